#include "events/append.h"

#include "events/array_literal.h"

namespace writ {
namespace {

constexpr char kColumns[] =
    "WITH batch AS (INSERT INTO events (position, stream, version, type, actor, reason, request_id,"
    " command_id, payload, payload_salt, envelope, leaf_hash, recorded_at) ";

// An array a column. For a single event, setting up twelve of them costs more than the insert.
constexpr char kManyRows[] =
    "SELECT *, $16::timestamptz FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[],"
    " $5::text[], $6::text[], $7::text[], $8::uuid[], $9::text[], $10::bytea[], $11::text[],"
    " $12::bytea[])";
constexpr char kOneRow[] =
    "VALUES ($1::bigint, $2::text, $3::bigint, $4::text, $5::text, $6::text, $7::text, $8::uuid,"
    " $9::text, $10::bytea, $11::text, $12::bytea, $16::timestamptz)";

constexpr char kMoveHead[] = R"sql(
  RETURNING position, stream, version, type, recorded_at, payload
), moved AS (
  UPDATE log_head SET position = $13::bigint, recorded_at = $16::timestamptz
), checked AS (
  UPDATE projections SET position = $13::bigint WHERE name = ANY ($14::text[])
))sql";

constexpr char kRemember[] = R"sql(, remembered AS (
  INSERT INTO commands (actor, idempotency_key, command_id, fingerprint, first_position,
                        last_position, created_at)
  SELECT *, $16::timestamptz
  FROM unnest($17::text[], $18::text[], $19::uuid[], $20::bytea[], $21::bigint[], $22::bigint[])
))sql";

constexpr char kNotify[] =
    "\nSELECT CASE WHEN $15::boolean THEN pg_notify('writ_log', $13::text) END";

std::string statement(const std::vector<Domain>& domains, const char* rows, bool with_keys) {
  std::string sql = std::string(kColumns) + rows + kMoveHead;
  for (const Domain& domain : domains)
    for (const InlineProjection& projection : domain.project)
      sql += ", fold_" + projection.name + " AS (\n" + projection.fold_sql + "\n)";
  if (with_keys) sql += kRemember;
  return sql + kNotify;
}

std::string_view bytes(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

void add_one(std::vector<std::string>& args, const EventRow& row) {
  const auto add = [&](std::string text) { args.push_back(std::move(text)); };
  add(std::to_string(row.position.value));
  add(row.stream.value);
  add(std::to_string(row.version.value));
  add(row.type);
  add(row.command->actor);
  add(row.command->reason);
  add(row.command->request_id);
  add(row.command_id);
  add(row.payload);
  add("\\x" + hex(row.salt));
  add(row.envelope);
  add("\\x" + hex(row.leaf_hash));
}

void add_many(std::vector<std::string>& args, std::span<const EventRow> rows) {
  ArrayLiteral positions, streams, versions, types, actors, reasons, requests, command_ids,
      payloads, salts, envelopes, hashes;
  for (const EventRow& row : rows) {
    positions.add(row.position.value);
    streams.add(row.stream.value);
    versions.add(row.version.value);
    types.add(row.type);
    actors.add(row.command->actor);
    reasons.add(row.command->reason);
    requests.add(row.command->request_id);
    command_ids.add(row.command_id);
    payloads.add(row.payload);
    salts.add_bytes(row.salt);
    envelopes.add(row.envelope);
    hashes.add_bytes(bytes(row.leaf_hash));
  }
  for (ArrayLiteral* column : {&positions, &streams, &versions, &types, &actors, &reasons,
                               &requests, &command_ids, &payloads, &salts, &envelopes, &hashes})
    args.push_back(std::move(*column).take());
}

/// The parameters after those of the events: $13 to $16.
void add_rest(std::vector<std::string>& args, const std::vector<Domain>& domains,
              const Append& what) {
  ArrayLiteral projections;
  for (const Domain& domain : domains)
    for (const InlineProjection& projection : domain.project) projections.add(projection.name);
  args.push_back(std::to_string(what.head.value));
  args.push_back(std::move(projections).take());
  args.emplace_back(what.notify ? "t" : "f");
  args.push_back(format_timestamp(what.recorded_at));
}

void add_keys(std::vector<std::string>& args, std::span<const KeyRow> rows) {
  ArrayLiteral actors, keys, command_ids, fingerprints, firsts, lasts;
  for (const KeyRow& row : rows) {
    actors.add(row.command->actor);
    keys.add(row.command->idempotency_key);
    command_ids.add(row.command_id);
    fingerprints.add_bytes(row.command->fingerprint);
    firsts.add(row.first.value);
    lasts.add(row.last.value);
  }
  for (ArrayLiteral* column : {&actors, &keys, &command_ids, &fingerprints, &firsts, &lasts})
    args.push_back(std::move(*column).take());
}

}  // namespace

void prepare_append(Connection& connection, const std::vector<Domain>& domains) {
  // In SQL and not by the protocol, so that it can share a round trip with COMMIT.
  connection.exec(
      "PREPARE append_one (bigint, text, bigint, text, text, text, text, uuid, text, bytea, text,"
      " bytea, bigint, text[], boolean, timestamptz) AS " +
      statement(domains, kOneRow, false));
  connection.prepare("append", statement(domains, kManyRows, false));
  connection.prepare("append_with_keys", statement(domains, kManyRows, true));
}

void append(Connection& connection, const std::vector<Domain>& domains, const Append& what) {
  std::vector<std::string> args;
  args.reserve(22);
  add_many(args, what.events);
  add_rest(args, domains, what);
  if (!what.keys.empty()) add_keys(args, what.keys);
  connection.exec_prepared(what.keys.empty() ? "append" : "append_with_keys",
                           pqxx::prepare::make_dynamic_params(args));
}

void append_and_commit(Connection& connection, const std::vector<Domain>& domains,
                       const Append& what) {
  if (what.events.size() != 1 || !what.keys.empty()) {
    append(connection, domains, what);
    connection.exec("COMMIT");
    return;
  }
  std::vector<std::string> args;
  args.reserve(16);
  add_one(args, what.events.front());
  add_rest(args, domains, what);
  std::string call = "EXECUTE append_one (";
  for (const std::string& arg : args) call += connection.quote(arg) + ',';
  call.back() = ')';
  // When the first fails the server leaves the second alone, and the transaction with it.
  connection.exec(call + "; COMMIT");
}

}  // namespace writ
