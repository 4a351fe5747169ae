#include "events/history.h"

#include <algorithm>

#include "events/array_literal.h"

namespace writ {
namespace {

// In the order that `event_of` reads.
constexpr char kColumnsOfEvent[] =
    "e.position, e.stream, e.version, e.type,"
    " (extract(epoch FROM e.recorded_at) * 1000000)::bigint, e.actor, e.reason, e.request_id,"
    " e.command_id::text, e.payload, encode(e.payload_salt, 'hex'), e.envelope,"
    " encode(e.leaf_hash, 'hex')";
constexpr pqxx::row::size_type kColumns = 13;

RecordedEvent event_of(const pqxx::row& row) {
  RecordedEvent event;
  event.position.value = row[0].as<std::int64_t>();
  event.stream.value = row[1].as<std::string>();
  event.version.value = row[2].as<std::int64_t>();
  event.type = row[3].as<std::string>();
  event.recorded_at = Timestamp(std::chrono::microseconds(row[4].as<std::int64_t>()));
  event.actor = row[5].as<std::string>();
  event.reason = row[6].as<std::string>();
  event.request_id = row[7].as<std::string>();
  event.command_id = row[8].as<std::string>();
  if (!row[9].is_null()) event.payload = row[9].as<std::string>();
  if (!row[10].is_null()) event.payload_salt = from_hex(row[10].as<std::string>());
  event.envelope = row[11].as<std::string>();
  const std::string hash = from_hex(row[12].as<std::string>());
  if (hash.size() != event.leaf_hash.size())
    throw CorruptLog("the leaf hash at position " + std::to_string(event.position.value) +
                     " is not 32 bytes");
  std::ranges::copy(hash, event.leaf_hash.begin());
  return event;
}

// A statement in pieces.
std::string join(std::initializer_list<std::string_view> pieces) {
  std::string sql;
  for (const std::string_view piece : pieces) sql += piece;
  return sql;
}

/// The positions of one value of `expression`, in the order of its index on (`expression`,
/// -position). For a value that it thinks frequent the planner would rather walk the whole log in
/// the order of positions and filter; that index has no order of -position.
std::string of_value(std::string_view expression, Order order) {
  return join({"SELECT position FROM events WHERE ", expression,
               " = ($4::text[])[1] AND -position BETWEEN -$2::bigint AND -$1::bigint"
               " ORDER BY -position ",
               order == Order::kNewestFirst ? "ASC" : "DESC", " LIMIT $3"});
}

std::string_view way(Order order) { return order == Order::kNewestFirst ? "DESC" : "ASC"; }

// $1 and $2 bound the positions, $3 their number, $4 is an array of values, $5 a stream. Every part
// of a list of settings is read in order from its own place in the index, so that no more than
// $3 × their number are read.
std::string positions_sql(HistoryQuery::By by, Order order) {
  using By = HistoryQuery::By;
  const std::string of_paths =
      "SELECT DISTINCT c.position FROM unnest($4::text[]) AS wanted (path) CROSS JOIN LATERAL"
      " (SELECT position FROM changed_paths WHERE changed_paths.path = wanted.path AND ";
  const std::string range =
      join({"position BETWEEN $1 AND $2 ORDER BY position ", way(order), " LIMIT $3"});
  const std::string all = join({range, ") c ORDER BY c.position ", way(order), " LIMIT $3"});
  switch (by) {
    case By::kPosition:
      return "SELECT position FROM events WHERE " + range;
    case By::kStream:
      return "SELECT position FROM events WHERE stream = ($4::text[])[1] AND " + range;
    case By::kActor:
      return of_value("actor", order);
    case By::kDomain:
      return of_value("split_part(stream, ':', 3)", order);
    case By::kPaths:
      return of_paths + all;
    case By::kStreamPaths:
      return join({of_paths, "stream = $5 AND ", all});
  }
  return {};
}

}  // namespace

LogHead read_head(Connection& connection) {
  const pqxx::result rows = connection.exec(
      "SELECT position, (extract(epoch FROM recorded_at) * 1000000)::bigint, encode(log_id, 'hex')"
      " FROM log_head");
  if (rows.size() != 1) throw CorruptLog("log_head must have exactly one row");
  return {{rows[0][0].as<std::int64_t>()},
          Timestamp(std::chrono::microseconds(rows[0][1].as<std::int64_t>())),
          rows[0][2].as<std::string>()};
}

std::string history_sql(HistoryQuery::By by, Order order) {
  return join({"WITH wanted AS MATERIALIZED (", positions_sql(by, order), ") SELECT ",
               kColumnsOfEvent,
               ", p.position, p.payload FROM wanted w JOIN events e ON e.position = w.position"
               " LEFT JOIN events p ON p.stream = e.stream AND p.version = e.version - 1"
               " WHERE $4::text[] IS NOT NULL AND $5::text IS NOT NULL ORDER BY e.position ",
               way(order)});
}

std::vector<EventInHistory> read_history(Connection& connection, const HistoryQuery& query) {
  ArrayLiteral values;
  for (const std::string& value : query.values) values.add(value);
  std::vector<EventInHistory> events;
  for (const pqxx::row& row : connection.exec_params(
           history_sql(query.by, query.order),
           {std::to_string(query.from.value), std::to_string(query.to.value),
            std::to_string(query.limit), std::move(values).take(), query.stream})) {
    EventInHistory& one = events.emplace_back();
    one.event = event_of(row);
    if (row[kColumns].is_null()) continue;
    one.previous.value = row[kColumns].as<std::int64_t>();
    if (!row[kColumns + 1].is_null()) one.previous_payload = row[kColumns + 1].as<std::string>();
  }
  return events;
}

std::vector<std::optional<RecordedEvent>> read_states(Connection& connection,
                                                      const std::vector<std::string>& streams,
                                                      Position position) {
  ArrayLiteral names;
  for (const std::string& stream : streams) names.add(stream);
  std::vector<std::optional<RecordedEvent>> states(streams.size());
  for (const pqxx::row& row : connection.exec_params(
           join({"SELECT ", kColumnsOfEvent,
                 ", s.ord FROM unnest($1::text[]) WITH ORDINALITY AS s (stream, ord)"
                 " CROSS JOIN LATERAL (SELECT * FROM events WHERE events.stream = s.stream"
                 " AND position <= $2 ORDER BY position DESC LIMIT 1) e"}),
           {std::move(names).take(), std::to_string(position.value)}))
    states[row[kColumns].as<std::size_t>() - 1] = event_of(row);
  return states;
}

RecordedEvent read_event(Connection& connection, Position position) {
  const pqxx::result rows = connection.exec_params(
      join({"SELECT ", kColumnsOfEvent, " FROM events e WHERE position = $1"}),
      {std::to_string(position.value)});
  if (rows.empty())
    throw CorruptLog("the event at position " + std::to_string(position.value) + " is missing");
  return event_of(rows[0]);
}

std::vector<RecordedEvent> read_events(Connection& connection, const std::string& positions) {
  std::vector<RecordedEvent> events;
  for (const pqxx::row& row : connection.exec_params(
           join({"SELECT ", kColumnsOfEvent,
                 " FROM events e WHERE position = ANY ($1::bigint[]) ORDER BY position"}),
           {positions}))
    events.push_back(event_of(row));
  return events;
}

std::optional<Position> position_of_version(Connection& connection, const std::string& stream,
                                            StreamVersion version) {
  const pqxx::result rows =
      connection.exec_params("SELECT position FROM events WHERE stream = $1 AND version = $2",
                             {stream, std::to_string(version.value)});
  if (rows.empty()) return std::nullopt;
  return Position{rows[0][0].as<std::int64_t>()};
}

Position position_at(Connection& connection, Timestamp time) {
  // Times do not decrease along positions, so halving finds the border.
  const pqxx::result rows = connection.exec_params(
      "WITH RECURSIVE search (low, high) AS ("
      "  SELECT 0::bigint, position FROM log_head"
      "  UNION ALL"
      "  SELECT CASE WHEN e.recorded_at <= $1::timestamptz THEN s.middle ELSE s.low END,"
      "         CASE WHEN e.recorded_at <= $1::timestamptz THEN s.high ELSE s.middle - 1 END"
      "  FROM (SELECT low, high, (low + high + 1) / 2 AS middle FROM search WHERE low < high) s"
      "  JOIN events e ON e.position = s.middle)"
      "SELECT low FROM search WHERE low = high",
      {format_timestamp(time)});
  if (rows.size() != 1) throw CorruptLog("a position below the head is missing");
  return {rows[0][0].as<std::int64_t>()};
}

}  // namespace writ
