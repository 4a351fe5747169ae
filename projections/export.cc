#include "projections/export.h"

#include <algorithm>

#include "events/canonical_json.h"
#include "events/connection.h"
#include "events/tiles.h"

namespace writ {
namespace {

constexpr std::int64_t kRows = 500;  // read and written at a time

constexpr char kEvents[] =
    "SELECT envelope, payload, encode(payload_salt, 'hex'), position FROM events"
    " WHERE position > $1 AND position <= $2 ORDER BY position";
constexpr char kSettings[] =
    "SELECT key, id, version, (extract(epoch FROM created_at) * 1000000)::bigint,"
    " (extract(epoch FROM updated_at) * 1000000)::bigint, data::text FROM settings"
    " WHERE key > $1 ORDER BY key LIMIT $2";

std::string_view text_of(const pqxx::field& field) { return {field.c_str(), field.size()}; }

std::string time_of(const pqxx::field& field) {
  return format_timestamp(Timestamp(std::chrono::microseconds(field.as<std::int64_t>())));
}

void append_event(std::string& out, const pqxx::row& row) {
  out += R"({"envelope":)";
  append_json_string(out, text_of(row[0]));
  if (!row[1].is_null()) {
    out += R"(,"payload":)";
    append_json_string(out, text_of(row[1]));
  }
  if (!row[2].is_null()) {
    out += R"(,"salt":")";
    out += text_of(row[2]);
    out += '"';
  }
  out += "}\n";
}

void append_settings(std::string& out, const pqxx::row& row) {
  out += R"({"settings":)";
  append_json_string(out, text_of(row[0]));
  out += R"(,"id":)";
  out += text_of(row[1]);
  out += R"(,"version":)";
  out += text_of(row[2]);
  out += R"(,"created_at":")";
  out += time_of(row[3]);
  out += R"(","updated_at":")";
  out += time_of(row[4]);
  out += R"(","data":)";
  append_json_string(out, text_of(row[5]));
  out += "}\n";
}

std::string end_line(const TreeHead& head, std::int64_t rows) {
  std::string out = R"({"end":{"log":")" + head.log_id;
  out += R"(","position":)" + std::to_string(head.size.value);
  out += R"(,"root":")" + hex(head.root);
  out += R"(","rows":)" + std::to_string(rows);
  return out += "}}\n";
}

}  // namespace

ExportResult export_log(const std::string& conninfo,
                        const std::function<void(std::string_view)>& lines,
                        const VerifyProgress& progress) {
  Connection connection(conninfo);
  // The lock comes before the snapshot: else a rebuild could put a table in place whose rows the
  // snapshot does not see.
  connection.exec(
      "SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ READ"
      " ONLY; LOCK TABLE settings IN ACCESS SHARE MODE");
  const TreeHead head = read_tree_head(connection);
  for (std::int64_t done = 0; done < head.size.value; done += kRows) {
    const std::int64_t last = std::min(done + kRows, head.size.value);
    std::string text;
    for (const pqxx::row& row :
         connection.exec_params(kEvents, {std::to_string(done), std::to_string(last)}))
      append_event(text, row);
    lines(text);
    progress("events", last, head.size.value);
  }
  std::int64_t rows = 0;
  std::string after;
  for (;;) {
    const pqxx::result found = connection.exec_params(kSettings, {after, std::to_string(kRows)});
    if (found.empty()) break;
    std::string text;
    for (const pqxx::row& row : found) append_settings(text, row);
    rows += static_cast<std::int64_t>(found.size());
    after = found[found.size() - 1][0].as<std::string>();
    lines(text);
    progress("settings", rows, rows);
  }
  lines(end_line(head, rows));
  connection.exec("COMMIT");
  return {head.size, head.root, rows};
}

}  // namespace writ
