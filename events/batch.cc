#include "events/batch.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "events/array_literal.h"
#include "events/envelope.h"
#include "events/storable_text.h"
#include "events/tiles.h"

namespace writ {
namespace {

constexpr std::size_t kMaxDetailBytes = 4096;

// These are prepared in SQL and not by the protocol, so that BEGIN, the lock and the load share one
// round trip. Each is still a statement of its own, with a snapshot of its own: the load sees what
// the last holder of the lock committed. (Fused into one statement with the lock it would read the
// snapshot from before.)
constexpr char kPrepareLockHead[] =
    "PREPARE lock_head AS SELECT encode(log_id, 'hex'), position,"
    " (extract(epoch FROM recorded_at) * 1000000)::bigint FROM log_head FOR UPDATE";

// Rows: 1 the newest event of a stream, 2 a remembered command, 3 the head and the clock.
constexpr char kLoadStreams[] = R"sql(
SELECT 1, s.ord, e.version, e.position, (extract(epoch FROM e.recorded_at) * 1000000)::bigint,
       e.type, e.actor, encode(e.leaf_hash, 'hex'), CASE WHEN s.with_payload THEN e.payload END
FROM unnest($1, $2) WITH ORDINALITY AS s (stream, with_payload, ord)
CROSS JOIN LATERAL (SELECT * FROM events WHERE events.stream = s.stream
                    ORDER BY events.version DESC LIMIT 1) e
UNION ALL
SELECT 3, 0, position, (extract(epoch FROM recorded_at) * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, encode(log_id, 'hex'), NULL,
       encode(frontier, 'hex'), NULL
FROM log_head)sql";

constexpr char kLoadRemembered[] = R"sql(
UNION ALL
SELECT 2, k.ord, c.first_position, c.last_position,
       (extract(epoch FROM c.created_at) * 1000000)::bigint, c.command_id::text, NULL,
       encode(c.fingerprint, 'hex'), NULL
FROM unnest($3, $4) WITH ORDINALITY AS k (actor, key, ord)
CROSS JOIN LATERAL (SELECT * FROM commands WHERE commands.actor = k.actor
                    AND commands.idempotency_key = k.key LIMIT 1) c)sql";

// Row: the newest event of one stream, then the head and the clock. The lone write spares itself
// the start-up of the statement for many.
constexpr char kLoadOne[] = R"sql(
SELECT e.version, e.position, (extract(epoch FROM e.recorded_at) * 1000000)::bigint, e.type,
       e.actor, encode(e.leaf_hash, 'hex'), CASE WHEN $2 THEN e.payload END, head.position,
       (extract(epoch FROM head.recorded_at) * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, encode(head.log_id, 'hex'),
       encode(head.frontier, 'hex')
FROM log_head head
LEFT JOIN LATERAL (SELECT * FROM events WHERE stream = $1 ORDER BY version DESC LIMIT 1) e ON true
)sql";

constexpr char kLatest[] = R"sql(
SELECT version, position, (extract(epoch FROM recorded_at) * 1000000)::bigint, type, actor,
       encode(leaf_hash, 'hex'), payload
FROM events WHERE stream = $1 ORDER BY version DESC LIMIT 1
)sql";

Timestamp timestamp(std::int64_t micros) { return Timestamp(std::chrono::microseconds(micros)); }

void check_storable(const std::string& text) {
  if (!is_storable(text)) throw std::invalid_argument("an event must be UTF-8 without U+0000");
}

StreamState state_of(const pqxx::row& row, pqxx::row::size_type first) {
  StreamState state;
  state.version.value = row[first].as<std::int64_t>();
  state.position.value = row[first + 1].as<std::int64_t>();
  state.recorded_at = timestamp(row[first + 2].as<std::int64_t>());
  state.type = row[first + 3].c_str();
  state.actor = row[first + 4].c_str();
  state.leaf_hash = row[first + 5].c_str();
  if (!row[first + 6].is_null()) state.payload = row[first + 6].as<std::string>();
  return state;
}

}  // namespace

void prepare_batch_statements(Connection& connection, const std::vector<Domain>& domains) {
  connection.exec(std::string(kPrepareLockHead) + "; PREPARE load_one (text, boolean) AS " +
                  kLoadOne + "; PREPARE load (text[], boolean[]) AS " + kLoadStreams +
                  "; PREPARE load_with_keys (text[], boolean[], text[], text[]) AS " +
                  kLoadStreams + kLoadRemembered);
  connection.prepare("latest", kLatest);
  prepare_append(connection, domains);
}

LogHead begin_and_lock_head(Connection& connection) {
  const pqxx::result rows = connection.exec("BEGIN; EXECUTE lock_head");
  if (rows.size() != 1) throw CorruptLog("log_head must have exactly one row");
  return {{rows[0][1].as<std::int64_t>()},
          timestamp(rows[0][2].as<std::int64_t>()),
          rows[0][0].c_str()};
}

Batch::Batch(Connection& connection, const std::vector<Domain>& domains)
    : connection_(connection), domains_(domains) {}

std::vector<CommandResult> Batch::run(const std::vector<const Command*>& commands,
                                      const std::function<void(Timestamp)>& refuse_clock) {
  begin_lock_and_load(commands, refuse_clock);
  std::vector<CommandResult> results;
  results.reserve(commands.size());
  for (const Command* command : commands) results.push_back(decide(*command));
  return results;
}

void Batch::commit() {
  writ::append_and_commit(connection_, domains_,
                          {rows_, keys_, now_, {next_position_.value - 1}, tree_, true});
}

const Domain& Batch::domain_of(const Command& command) const {
  const auto found = std::ranges::find(domains_, command.domain, &Domain::name);
  if (found == domains_.end())
    throw std::invalid_argument("no domain is registered as " + command.domain);
  return *found;
}

/// The streams that a command wants loaded. One that cannot say them fails alone, when it is
/// decided.
std::vector<StreamName> Batch::streams_of(const Command& command) {
  try {
    std::vector<StreamName> streams = domain_of(command).load(command.body);
    for (const StreamName& stream : streams) check_storable(stream.value);
    return streams;
  } catch (const std::exception&) {
    unloadable_[&command] = std::current_exception();
    return {};
  }
}

void Batch::begin_lock_and_load(const std::vector<const Command*>& commands,
                                const std::function<void(Timestamp)>& refuse_clock) {
  std::vector<std::string> streams;
  std::vector<Key> keys;
  ArrayLiteral names, with_payload, actors, key_names;
  for (const Command* command : commands) {
    for (StreamName& stream : streams_of(*command)) {
      const auto [known, added] = states_.try_emplace(stream.value);
      if (domain_of(*command).needs_payload) known->second.with_payload = true;
      if (added) streams.push_back(std::move(stream.value));
    }
    if (command->idempotency_key.empty()) continue;
    actors.add(command->actor);
    key_names.add(command->idempotency_key);
    keys.emplace_back(command->actor, command->idempotency_key);
  }
  if (streams.size() == 1 && keys.empty()) return load_one(streams.front(), refuse_clock);
  for (const std::string& stream : streams) {
    names.add(stream);
    with_payload.add(std::string_view(states_[stream].with_payload ? "t" : "f"));
  }
  std::string load = "BEGIN; EXECUTE lock_head; EXECUTE load";
  if (!keys.empty()) load += "_with_keys";
  load += '(' + connection_.quote(std::move(names).take()) + ',' +
          connection_.quote(std::move(with_payload).take());
  if (!keys.empty())
    load += ',' + connection_.quote(std::move(actors).take()) + ',' +
            connection_.quote(std::move(key_names).take());
  const pqxx::result rows = connection_.exec(load + ')');
  if (rows.empty()) throw CorruptLog("log_head must have exactly one row");
  for (const pqxx::row& row : rows) {
    const auto ordinal = row[1].as<std::size_t>();
    if (const int kind = row[0].as<int>(); kind == 1) {
      states_[streams[ordinal - 1]].state = state_of(row, 2);
    } else if (kind == 2) {
      remembered_[keys[ordinal - 1]] = {row[7].c_str(),
                                        std::nullopt,
                                        row[5].c_str(),
                                        {row[2].as<std::int64_t>()},
                                        {row[3].as<std::int64_t>()},
                                        timestamp(row[4].as<std::int64_t>())};
    } else {
      start_at({{row[2].as<std::int64_t>()}, timestamp(row[3].as<std::int64_t>()), row[5].c_str()},
               row[7].c_str(), timestamp(row[4].as<std::int64_t>()), refuse_clock);
    }
  }
}

void Batch::load_one(const std::string& stream,
                     const std::function<void(Timestamp)>& refuse_clock) {
  Known& known = states_[stream];
  const pqxx::result rows =
      connection_.exec("BEGIN; EXECUTE lock_head; EXECUTE load_one (" + connection_.quote(stream) +
                       (known.with_payload ? ",true)" : ",false)"));
  if (rows.size() != 1) throw CorruptLog("log_head must have exactly one row");
  const pqxx::row row = rows[0];
  if (!row[0].is_null()) known.state = state_of(row, 0);
  start_at({{row[7].as<std::int64_t>()}, timestamp(row[8].as<std::int64_t>()), row[10].c_str()},
           row[11].c_str(), timestamp(row[9].as<std::int64_t>()), refuse_clock);
}

void Batch::start_at(LogHead head, const std::string& frontier, Timestamp clock,
                     const std::function<void(Timestamp)>& refuse_clock) {
  head_ = std::move(head);
  next_position_ = first_position();
  tree_ = frontier_at(head_.position, from_hex(frontier));
  root_at_head_ = tree_.root();
  refuse_clock(clock);
  now_ = std::max(clock, head_.recorded_at);
}

CommandResult Batch::decide(const Command& command) {
  command_ = &command;
  command_id_ = random_uuid();
  appended_.clear();
  undo_.clear();
  accepted_rows_ = rows_.size();
  savepoint_open_ = false;
  if (const auto found = unloadable_.find(&command); found != unloadable_.end())
    return found->second;
  try {
    if (auto earlier = replay(command)) return *std::move(earlier);
    Decision decision = domain_of(command).decide(command.body, *this);
    if (auto* events = std::get_if<std::vector<NewEvent>>(&decision))
      return Outcome(accept(std::move(*events)));
    take_back();
    return Outcome(std::get<Rejected>(std::move(decision)));
  } catch (const StorageUnavailable&) {
    throw;
  } catch (const StorageError&) {
    throw;
  } catch (const std::exception&) {
    // A decision that throws is a bug in one domain; its neighbours go on.
    take_back();
    return std::current_exception();
  }
}

std::optional<CommandResult> Batch::replay(const Command& command) {
  if (command.idempotency_key.empty()) return std::nullopt;
  const auto found = remembered_.find({command.actor, command.idempotency_key});
  if (found == remembered_.end()) return std::nullopt;
  Remembered& earlier = found->second;
  if (earlier.fingerprint != hex(command.fingerprint))
    return std::make_exception_ptr(IdempotencyKeyReused(
        "the idempotency key \"" + command.idempotency_key + "\" was used for another command"));
  if (!earlier.accepted) {
    earlier.accepted = Accepted{earlier.command_id, {}, earlier.created_at, false};
    const pqxx::result rows = connection_.exec_params(
        "SELECT stream, version, position FROM events WHERE position BETWEEN $1 AND $2 ORDER BY "
        "position",
        {std::to_string(earlier.first.value), std::to_string(earlier.last.value)});
    for (const pqxx::row& row : rows)
      earlier.accepted->events.push_back(
          {{row[0].c_str()}, {row[1].as<std::int64_t>()}, {row[2].as<std::int64_t>()}});
  }
  Accepted again = *earlier.accepted;
  again.replayed = true;
  return Outcome(std::move(again));
}

Accepted Batch::accept(std::vector<NewEvent> events) {
  for (NewEvent& event : events) append(std::move(event));
  Accepted accepted{command_id_, appended_, now_, false};
  if (!command_->idempotency_key.empty() && !appended_.empty()) {
    keys_.push_back({command_, command_id_, appended_.front().position, appended_.back().position});
    remembered_[{command_->actor, command_->idempotency_key}] = {
        hex(command_->fingerprint), accepted, command_id_, {}, {}, now_};
  }
  for (std::size_t i = 0; i < appended_.size(); ++i) command_ids_.push_back(command_id_);
  if (!appended_.empty()) last_leaf_hash_ = states_[appended_.back().stream.value].state->leaf_hash;
  if (savepoint_open_) connection_.exec("RELEASE SAVEPOINT command");
  savepoint_open_ = false;
  return accepted;
}

void Batch::take_back() {
  if (savepoint_open_) connection_.exec("ROLLBACK TO SAVEPOINT command; RELEASE SAVEPOINT command");
  if (savepoint_open_) tree_ = tree_at_savepoint_;
  savepoint_open_ = false;
  rows_.resize(std::min(rows_.size(), accepted_rows_));
  next_position_.value -= static_cast<std::int64_t>(appended_.size());
  for (auto change = undo_.rbegin(); change != undo_.rend(); ++change)
    states_[change->first] = std::move(change->second);
}

void Batch::append(NewEvent event) {
  for (const std::string* text : {&event.stream.value, &event.type, &event.payload})
    check_storable(*text);
  std::size_t detail_bytes = 0;
  for (const auto& [key, value] : event.detail) {
    check_storable(key);
    check_storable(value);
    detail_bytes += key.size() + value.size();
  }
  if (detail_bytes > kMaxDetailBytes)
    throw std::invalid_argument("an event's detail must be at most 4 KiB");
  std::optional<StreamState> before = latest(event.stream);
  EventRow row;
  row.position = next_position_;
  row.stream = std::move(event.stream);
  row.version.value = before ? before->version.value + 1 : 1;
  row.type = std::move(event.type);
  row.payload = std::move(event.payload);
  row.salt = random_bytes(32);
  row.envelope = canonical_envelope(
      {head_.log_id, row.position, row.stream, row.version, row.type, now_, command_->actor,
       command_->reason, command_id_, command_->request_id, event.detail,
       hex(payload_hash(row.salt, row.payload)), before ? before->leaf_hash : std::string()});
  row.leaf_hash = leaf_hash(row.envelope);
  row.command = command_;
  row.command_id = command_id_;
  StreamState after{row.version,     row.position, row.type,          now_,
                    command_->actor, std::nullopt, hex(row.leaf_hash)};
  if (std::ranges::any_of(domains_, &Domain::needs_payload)) after.payload = row.payload;
  Known& known = states_[row.stream.value];
  undo_.emplace_back(row.stream.value, std::move(known));
  const bool with_payload = after.payload.has_value();
  known = {std::move(after), with_payload};
  appended_.push_back({row.stream, row.version, row.position});
  ++next_position_.value;
  rows_.push_back(std::move(row));
}

std::optional<StreamState> Batch::latest(const StreamName& stream) {
  const auto known = states_.find(stream.value);
  // Another domain may have had it loaded without the payload that this one needs.
  if (known != states_.end() && (known->second.with_payload || !domain_of(*command_).needs_payload))
    return known->second.state;
  const pqxx::result rows = connection_.exec_prepared("latest", stream.value);
  std::optional<StreamState> state;
  if (!rows.empty()) state = state_of(rows[0], 0);
  states_[stream.value] = {state, true};
  return state;
}

LookupRows Batch::query(const std::string& sql, const std::vector<std::string>& args) {
  if (!savepoint_open_) {
    if (accepted_rows_ > 0 || !keys_.empty()) flush(accepted_rows_);
    accepted_rows_ = 0;
    connection_.exec("SAVEPOINT command");
    savepoint_open_ = true;
    tree_at_savepoint_ = tree_;
  }
  if (!rows_.empty()) flush(rows_.size());
  LookupRows found;
  for (const pqxx::row& row : connection_.exec_params(sql, args)) {
    auto& fields = found.emplace_back();
    for (const pqxx::field& field : row)
      fields.push_back(field.is_null() ? std::nullopt : std::optional(field.as<std::string>()));
  }
  return found;
}

void Batch::stage(std::vector<NewEvent> events) {
  for (NewEvent& event : events) append(std::move(event));
}

void Batch::flush(std::size_t count) {
  const Position head{count == rows_.size() ? next_position_.value - 1
                                            : rows_[count].position.value - 1};
  writ::append(connection_, domains_,
               {std::span(rows_).first(count), keys_, now_, head, tree_, false});
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(count));
  keys_.clear();
}

}  // namespace writ
