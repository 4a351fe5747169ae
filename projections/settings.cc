#include "projections/settings.h"

#include "events/array_literal.h"

namespace writ {
namespace {

constexpr int kFoldVersion = 1;

// A rebuild in parts may see an erased event as a stream's last one of its part: it stands as null
// until the part with the event that superseded it.
constexpr char kFold[] = R"sql(
INSERT INTO settings (id, key, data, version, created_at, updated_at)
SELECT DISTINCT ON (stream) min(position) OVER events_of_stream, substr(stream, 10),
       coalesce(payload, 'null')::jsonb, version, min(recorded_at) OVER events_of_stream,
       recorded_at
FROM batch WHERE starts_with(stream, 'settings/')
WINDOW events_of_stream AS (PARTITION BY stream)
ORDER BY stream, version DESC
ON CONFLICT (key) DO UPDATE
SET data = excluded.data, version = excluded.version, updated_at = excluded.updated_at
)sql";

constexpr char kFetch[] =
    "SELECT key, data::text, version FROM settings WHERE key = ANY ($1::text[])";

}  // namespace

InlineProjection settings_projection() { return {"settings", kFoldVersion, kFold}; }

void prepare_settings_queries(Connection& connection) {
  connection.prepare("fetch_settings", kFetch);
}

std::vector<SettingsRow> fetch_settings(Connection& connection,
                                        const std::vector<std::string>& keys) {
  ArrayLiteral array;
  for (const std::string& key : keys) array.add(key);
  std::vector<SettingsRow> found;
  for (const pqxx::row& row : connection.exec_prepared("fetch_settings", std::move(array).take()))
    found.push_back(
        {row[0].as<std::string>(), row[1].as<std::string>(), row[2].as<std::int64_t>()});
  return found;
}

}  // namespace writ
