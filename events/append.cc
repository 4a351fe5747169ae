#include "events/append.h"

#include <stdexcept>

#include "events/array_literal.h"
#include "events/tiles.h"

namespace writ {
namespace {

constexpr char kInsert[] =
    "INSERT INTO events (position, stream, version, type, actor, reason, request_id, command_id,"
    " payload, payload_salt, envelope, leaf_hash, recorded_at) ";

constexpr char kManyRows[] =
    "SELECT *, $16::timestamptz FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[],"
    " $5::text[], $6::text[], $7::text[], $8::uuid[], $9::text[], $10::bytea[], $11::text[],"
    " $12::bytea[])";

constexpr char kMoveHead[] = R"sql(
  RETURNING position, stream, version, type, recorded_at, payload
), moved AS (
  UPDATE log_head SET position = $13::bigint, tree_size = $13::bigint,
                      recorded_at = $16::timestamptz, root = $17::bytea, frontier = $18::bytea
), checked AS (
  UPDATE projections SET position = $13::bigint WHERE name = ANY ($14::text[])
))sql";

constexpr char kRemember[] = R"sql(, remembered AS (
  INSERT INTO commands (actor, idempotency_key, command_id, fingerprint, first_position,
                        last_position, created_at)
  SELECT *, $16::timestamptz
  FROM unnest($19::text[], $20::text[], $21::uuid[], $22::bytea[], $23::bigint[], $24::bigint[])
))sql";

constexpr char kNotify[] =
    "\nSELECT CASE WHEN $15::boolean THEN pg_notify('writ_log', $13::text) END";

// A single event in small statements: starting the one that does it all costs more than they do.
constexpr char kPrepareOne[] = R"sql(
PREPARE move_head (bigint, timestamptz, text[], bytea, bytea) AS
WITH checked AS (UPDATE projections SET position = $1 WHERE name = ANY ($3))
UPDATE log_head SET position = $1, tree_size = $1, recorded_at = $2, root = $4, frontier = $5;
PREPARE append_event (bigint, text, bigint, text, text, text, text, uuid, text, bytea, text, bytea,
                      timestamptz) AS )sql";
constexpr char kOneRow[] = "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
std::string statement(const std::vector<Domain>& domains, bool with_keys) {
  std::string sql = "WITH batch AS (";
  for (const char* part : {kInsert, kManyRows, kMoveHead}) sql += part;
  for (const Domain& domain : domains)
    for (const InlineProjection& projection : domain.project)
      sql += ", fold_" + projection.name + " AS (\n" + projection.fold_sql + "\n)";
  if (with_keys) sql += kRemember;
  return sql + kNotify;
}

std::string prepare_one(const std::vector<Domain>& domains) {
  std::string sql;
  for (const char* part : {kPrepareOne, kInsert, kOneRow}) sql += part;
  for (const Domain& domain : domains)
    for (const InlineProjection& projection : domain.project)
      sql += ";\nPREPARE fold_" + projection.name + " (bigint) AS " +
             fold_of_log(projection, "$1", "$1");
  return sql;
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
    hashes.add_bytes(bytes_of(row.leaf_hash));
  }
  for (ArrayLiteral* column : {&positions, &streams, &versions, &types, &actors, &reasons,
                               &requests, &command_ids, &payloads, &salts, &envelopes, &hashes})
    args.push_back(std::move(*column).take());
}

std::string names_of_projections(const std::vector<Domain>& domains) {
  ArrayLiteral names;
  for (const Domain& domain : domains)
    for (const InlineProjection& projection : domain.project) names.add(projection.name);
  return std::move(names).take();
}

std::string bytea(std::string_view bytes) { return "\\x" + hex(bytes); }

/// Moves the tree past the events. Answers what stores the tiles that they fill, "" as a rule.
std::string move_tree(const Append& what) {
  std::string fill;
  for (const EventRow& row : what.events)
    what.tree.append(row.leaf_hash, [&](const TreeNode& node, const Digest& hash) {
      if (const auto tile = tile_completed_by(node)) fill += fill_tile_sql(*tile, hash);
    });
  if (what.tree.size() != what.head.value) throw std::logic_error("the tree is not of the log");
  return fill;
}

/// The parameters after those of the events: $13 to $18.
void add_rest(std::vector<std::string>& args, const std::vector<Domain>& domains,
              const Append& what) {
  args.push_back(std::to_string(what.head.value));
  args.push_back(names_of_projections(domains));
  args.emplace_back(what.notify ? "t" : "f");
  args.push_back(format_timestamp(what.recorded_at));
  args.push_back(bytea(bytes_of(what.tree.root())));
  args.push_back(bytea(what.tree.bytes()));
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

/// A call of the prepared statement `name` in SQL.
std::string execute(const Connection& connection, const std::string& name,
                    const std::vector<std::string>& args) {
  std::string call = "EXECUTE " + name + " (";
  for (const std::string& arg : args) call += connection.quote(arg) + ',';
  call.back() = ')';
  return call + ';';
}

std::string append_one(const Connection& connection, const std::vector<Domain>& domains,
                       const Append& what) {
  const std::string fill = move_tree(what);
  const EventRow& row = what.events.front();
  const std::string position = std::to_string(row.position.value);
  const std::string version = std::to_string(row.version.value);
  const std::string recorded_at = format_timestamp(what.recorded_at);
  std::string sql =
      execute(connection, "append_event",
              {position, row.stream.value, version, row.type, row.command->actor,
               row.command->reason, row.command->request_id, row.command_id, row.payload,
               bytea(row.salt), row.envelope, bytea(bytes_of(row.leaf_hash)), recorded_at});
  for (const Domain& domain : domains)
    for (const InlineProjection& projection : domain.project)
      sql += execute(connection, "fold_" + projection.name, {position});
  const std::string head = std::to_string(what.head.value);
  sql += execute(connection, "move_head",
                 {head, recorded_at, names_of_projections(domains),
                  bytea(bytes_of(what.tree.root())), bytea(what.tree.bytes())});
  sql += fill;
  if (what.notify) sql += "NOTIFY writ_log, '" + head + "';";
  return sql;
}

/// Answers what is left to run: what stores the tiles that are full now.
std::string append_events(Connection& connection, const std::vector<Domain>& domains,
                          const Append& what) {
  std::string fill = move_tree(what);
  std::vector<std::string> args;
  args.reserve(24);
  add_many(args, what.events);
  add_rest(args, domains, what);
  if (!what.keys.empty()) add_keys(args, what.keys);
  connection.exec_prepared(what.keys.empty() ? "append" : "append_with_keys",
                           pqxx::prepare::make_dynamic_params(args));
  return fill;
}

}  // namespace

std::string fold_of_log(const InlineProjection& projection, const std::string& first,
                        const std::string& last) {
  // A fence: else a fold's condition on streams lets the planner walk the index of all streams.
  return "WITH batch AS MATERIALIZED (SELECT position, stream, version, type, recorded_at, payload"
         " FROM events WHERE position BETWEEN " +
         first + " AND " + last + ") " + projection.fold_sql;
}

void prepare_append(Connection& connection, const std::vector<Domain>& domains) {
  // In SQL and not by the protocol, so that they can share a round trip with COMMIT.
  connection.exec(prepare_one(domains));
  connection.prepare("append", statement(domains, false));
  connection.prepare("append_with_keys", statement(domains, true));
}

void append(Connection& connection, const std::vector<Domain>& domains, const Append& what) {
  if (const std::string fill = append_events(connection, domains, what); !fill.empty())
    connection.exec(fill);
}

void append_and_commit(Connection& connection, const std::vector<Domain>& domains,
                       const Append& what) {
  if (what.events.size() != 1 || !what.keys.empty()) {
    const std::string fill = append_events(connection, domains, what);
    connection.exec(fill + "COMMIT");
    return;
  }
  // When one of them fails the server leaves the rest alone, COMMIT as well.
  connection.exec(append_one(connection, domains, what) + "COMMIT");
}

}  // namespace writ
