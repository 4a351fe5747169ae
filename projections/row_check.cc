#include "projections/row_check.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "schema/leaf_diff.h"
#include "schema/protojson.h"

namespace writ {
namespace {

constexpr char kNoLimit[] = "9223372036854775807";

std::string text_of(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

/// The first setting that differs; "" when the difference is in nothing that is a setting.
std::string differing_setting(const std::string& live, const std::string& wanted) {
  flyteidl2::settings::Settings a, b;
  if (read_json(live, &a, JsonMode::kStored).error ||
      read_json(wanted, &b, JsonMode::kStored).error)
    return "";
  const auto changes = diff_settings(a, b);
  return changes.empty() ? "" : changes.front().path();
}

/// $1 after, $2 up to (both keys), $3 whether there is no such end.
std::string compare_sql(const FoldedModel& model) {
  const std::string& table = model.projection.name;
  const std::string& key = model.key_column;
  std::string sql = "WITH live AS MATERIALIZED (SELECT * FROM writ." + table + " WHERE " + key;
  sql += " > $1 AND ($3::boolean OR " + key + " <= $2)), different AS (SELECT " + key;
  sql +=
      ", to_jsonb(live)::text AS live, to_jsonb(fresh)::text AS fresh FROM live FULL JOIN pg_temp.";
  sql +=
      table + " fresh USING (" + key + ") WHERE live::text IS DISTINCT FROM fresh::text ORDER BY ";
  sql += key + " LIMIT 1) SELECT (SELECT count(*) FROM live), d.* FROM (VALUES (1)) one";
  return sql += " LEFT JOIN different d ON true";
}

std::optional<std::string> text_or_nothing(const pqxx::field& field) {
  if (field.is_null()) return std::nullopt;
  return field.as<std::string>();
}

}  // namespace

RowCheck::RowCheck(Connection& connection, FoldedModel model)
    : connection_(connection),
      model_(std::move(model)),
      end_(end_of_prefix(model_.stream_prefix)),
      compare_(compare_sql(model_)) {
  const std::string& table = model_.projection.name;
  connection_.exec("SET search_path = pg_temp, writ; CREATE TEMPORARY TABLE IF NOT EXISTS " +
                   table + " (LIKE writ." + table + ") ON COMMIT DELETE ROWS");
}

RowCheck::Chunk RowCheck::check(const std::string& after, std::int64_t limit) {
  const std::string prefix = model_.stream_prefix;
  connection_.exec(
      std::string("BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL synchronous_commit = off; ") +
      kPlanOfStreams);
  const pqxx::row folded = connection_.exec_params(
      fold_of_streams(model_), {prefix + after, end_, std::to_string(limit), kNoLimit})[0];
  Chunk chunk;
  chunk.end = folded[2].as<bool>();
  if (!folded[0].is_null()) chunk.last_key = folded[0].as<std::string>().substr(prefix.size());
  const pqxx::row compared =
      connection_.exec_params(compare_, {after, chunk.last_key, chunk.end ? "t" : "f"})[0];
  chunk.rows = compared[0].as<std::int64_t>();
  if (!compared[1].is_null())
    chunk.difference = {
        compared[1].as<std::string>(),
        difference_of_rows(text_or_nothing(compared[2]), text_or_nothing(compared[3]))};
  connection_.exec("COMMIT");
  return chunk;
}

std::string difference_of_rows(const std::optional<std::string>& live,
                               const std::optional<std::string>& wanted) {
  if (!live) return "the row is missing";
  if (!wanted) return "the log has no such record";
  rapidjson::Document a, b;
  a.Parse<rapidjson::kParseNumbersAsStringsFlag>(live->c_str());
  b.Parse<rapidjson::kParseNumbersAsStringsFlag>(wanted->c_str());
  if (!a.IsObject() || !b.IsObject()) return "the row cannot be read";
  for (rapidjson::SizeType i = 0; i < b.MemberCount(); ++i) {
    const auto& member = *(b.MemberBegin() + i);
    const std::string column = member.name.GetString();
    if (!a.HasMember(member.name)) return column + " is missing";
    const rapidjson::Value& other = a[member.name];
    if (other == member.value) continue;
    if (member.value.IsObject() && other.IsObject())
      if (std::string path = differing_setting(text_of(other), text_of(member.value));
          !path.empty())
        return path;
    return column;
  }
  return "another spelling of the same";
}

}  // namespace writ
