#include "tests/acceptance/log_checks.h"

#include <stdexcept>

#include "events/connection.h"
#include "tests/support/tree_checks.h"

namespace writ::test {
namespace {

struct Check {
  const char* what;
  const char* sql;  // answers the rows that break it
};

constexpr Check kChecks[] = {
    {"positions have a hole",
     "SELECT position, n FROM (SELECT position, row_number() OVER (ORDER BY position) AS n"
     " FROM writ.events) e WHERE position <> n"},
    {"versions have a hole",
     "SELECT stream, version, n FROM (SELECT stream, version, row_number() OVER"
     " (PARTITION BY stream ORDER BY version) AS n FROM writ.events) e WHERE version <> n"},
    {"versions and positions disagree",
     "SELECT a.position, b.position FROM writ.events a JOIN writ.events b"
     " ON b.stream = a.stream AND b.version = a.version + 1 AND b.position <= a.position"},
    {"the head is not the last event",
     "SELECT h.position, e.last FROM writ.log_head h,"
     " (SELECT coalesce(max(position), 0) AS last, max(recorded_at) AS at FROM writ.events) e"
     " WHERE h.position <> e.last OR (e.last > 0 AND h.recorded_at <> e.at)"},
    {"times decrease",
     "SELECT position FROM (SELECT position, recorded_at, lag(recorded_at) OVER"
     " (ORDER BY position) AS before FROM writ.events) e WHERE before > recorded_at"},
    {"a leaf hash is not of its envelope",
     "SELECT position FROM writ.events"
     " WHERE leaf_hash <> sha256('\\x00'::bytea || convert_to(envelope, 'UTF8'))"},
    {"an envelope says something else than its row",
     "SELECT e.position FROM writ.events e, LATERAL (SELECT e.envelope::jsonb AS j) j WHERE"
     " j->>'position' IS DISTINCT FROM position::text OR j->>'stream' IS DISTINCT FROM stream"
     " OR j->>'version' IS DISTINCT FROM version::text OR j->>'type' IS DISTINCT FROM type"
     " OR j->>'actor' IS DISTINCT FROM actor OR j->>'reason' IS DISTINCT FROM reason"
     " OR j->>'request' IS DISTINCT FROM request_id"
     " OR j->>'command' IS DISTINCT FROM command_id::text"
     " OR (j->>'time')::timestamptz IS DISTINCT FROM recorded_at"
     " OR j->>'log' IS DISTINCT FROM (SELECT encode(log_id, 'hex') FROM writ.log_head)"
     " OR j->>'payload_hash' IS DISTINCT FROM"
     " encode(sha256(payload_salt || convert_to(payload, 'UTF8')), 'hex')"},
    {"an envelope does not name its predecessor",
     "SELECT position FROM (SELECT position, envelope::jsonb->>'prev' AS prev, coalesce(encode("
     "lag(leaf_hash) OVER (PARTITION BY stream ORDER BY version), 'hex'), '') AS before"
     " FROM writ.events) e WHERE prev IS DISTINCT FROM before"},
    {"the first event of a record is no creation, or a later one is",
     "SELECT position, version, type FROM writ.events WHERE starts_with(stream, 'settings/')"
     " AND (version = 1) <> (type = 'settings.created')"},
    {"the settings are not the fold of the log",
     "WITH fold AS (SELECT DISTINCT ON (stream) substr(stream, length('settings/') + 1) AS key,"
     " payload::jsonb::text AS data, version, recorded_at AS updated_at, (SELECT min(position)"
     " FROM writ.events f WHERE f.stream = e.stream) AS id FROM writ.events e"
     " WHERE stream LIKE 'settings/%' ORDER BY stream, version DESC)"
     " SELECT f.*, s.* FROM fold f FULL JOIN (SELECT key, data::text, version, updated_at, id"
     " FROM writ.settings) s USING (key) WHERE (f.data, f.version, f.updated_at, f.id)"
     " IS DISTINCT FROM (s.data, s.version, s.updated_at, s.id)"},
    {"a projection is behind the log",
     "SELECT p.name, p.position FROM writ.projections p, writ.log_head h"
     " WHERE p.name = 'settings' AND p.position <> h.position"},
    {"a remembered command has no event",
     "SELECT c.idempotency_key FROM writ.commands c LEFT JOIN writ.events e"
     " ON e.position = c.first_position AND e.command_id = c.command_id AND e.actor = c.actor"
     " WHERE e.position IS NULL OR c.last_position <> c.first_position"},
    {"two events share a command",
     "SELECT command_id FROM writ.events GROUP BY command_id HAVING count(*) > 1"},
};

std::string described(const char* what, const std::vector<Row>& rows) {
  std::string text = std::string(what) + " (" + std::to_string(rows.size()) + " rows, the first:";
  for (const std::string& field : rows.front()) text += " " + field;
  return text + ")";
}

}  // namespace

std::vector<Row> query(const std::string& conninfo, const std::string& sql,
                       const std::vector<std::string>& parameters) {
  Connection connection(conninfo);
  const auto result =
      parameters.empty() ? connection.exec(sql) : connection.exec_params(sql, parameters);
  std::vector<Row> rows;
  for (const auto& row : result) {
    Row& out = rows.emplace_back();
    for (const auto& field : row) out.push_back(field.is_null() ? "NULL" : field.c_str());
  }
  return rows;
}

std::string query_one(const std::string& conninfo, const std::string& sql,
                      const std::vector<std::string>& parameters) {
  const auto rows = query(conninfo, sql, parameters);
  if (rows.size() != 1 || rows[0].size() != 1) throw std::runtime_error("not one value: " + sql);
  return rows[0][0];
}

std::vector<std::string> broken_invariants(const std::string& conninfo) {
  std::vector<std::string> broken;
  for (const Check& check : kChecks)
    if (const auto rows = query(conninfo, check.sql); !rows.empty())
      broken.push_back(described(check.what, rows));
  Connection connection(conninfo);
  for (const std::string& difference : broken_tree(connection)) broken.push_back(difference);
  return broken;
}

Json settings_rows(const std::string& conninfo) {
  Json rows = Json::array();
  for (const Row& row :
       query(conninfo, "SELECT key, data::text, version FROM writ.settings ORDER BY id"))
    rows.elements().push_back(Json::object(
        {{"key", row[0]}, {"data", Json::parse(row[1])}, {"version", Json::number(row[2])}}));
  return rows;
}

}  // namespace writ::test
