#include "projections/settings.h"

#include "events/array_literal.h"

namespace writ {
namespace {

constexpr int kFoldVersion = 1;

// A rebuild in parts may see an erased event as a stream's last one of its part: it stands as null
// until the part with the event that superseded it.
constexpr char kRows[] = R"sql(
INSERT INTO settings (id, key, data, version, created_at, updated_at)
SELECT first_position, substr(stream, 10), coalesce(payload, 'null')::jsonb, version,
       first_recorded_at, recorded_at
FROM)sql";

constexpr char kOntoOlder[] = R"sql( (
  SELECT DISTINCT ON (stream) stream, payload, version, recorded_at,
         min(position) OVER events_of_stream AS first_position,
         min(recorded_at) OVER events_of_stream AS first_recorded_at
  FROM batch WHERE starts_with(stream, 'settings/')
  WINDOW events_of_stream AS (PARTITION BY stream)
  ORDER BY stream, version DESC) ends
ON CONFLICT (key) DO UPDATE
SET data = excluded.data, version = excluded.version, updated_at = excluded.updated_at
)sql";

constexpr char kFetch[] =
    "SELECT key, data::text, version FROM settings WHERE key = ANY ($1::text[])";

// One statement, so that rows and head are of one snapshot.
constexpr char kFetchAtHead[] =
    "SELECT key, data::text, version FROM settings WHERE key = ANY ($1::text[])"
    " UNION ALL SELECT NULL, NULL, position FROM log_head";

}  // namespace

InlineProjection settings_projection() {
  return {"settings", kFoldVersion, settings_rows_sql() + kOntoOlder};
}

std::string settings_rows_sql() { return kRows; }

void prepare_settings_queries(Connection& connection) {
  connection.prepare("fetch_settings", kFetch);
  connection.prepare("fetch_settings_at_head", kFetchAtHead);
}

namespace {

std::string key_array(const std::vector<std::string>& keys) {
  ArrayLiteral array;
  for (const std::string& key : keys) array.add(key);
  return std::move(array).take();
}

SettingsRow read_row(const pqxx::row& row) {
  return {row[0].as<std::string>(), row[1].as<std::string>(), row[2].as<std::int64_t>()};
}

}  // namespace

std::vector<SettingsRow> fetch_settings(Connection& connection,
                                        const std::vector<std::string>& keys) {
  std::vector<SettingsRow> found;
  for (const pqxx::row& row : connection.exec_prepared("fetch_settings", key_array(keys)))
    found.push_back(read_row(row));
  return found;
}

SettingsAtHead fetch_settings_at_head(Connection& connection,
                                      const std::vector<std::string>& keys) {
  SettingsAtHead found;
  for (const pqxx::row& row : connection.exec_prepared("fetch_settings_at_head", key_array(keys))) {
    if (row[0].is_null())
      found.head = {row[2].as<std::int64_t>()};
    else
      found.rows.push_back(read_row(row));
  }
  return found;
}

}  // namespace writ
