#include "projections/changed_paths_check.h"

#include "events/connection.h"
#include "events/errors.h"
#include "projections/changed_paths.h"

namespace writ {
namespace {

constexpr std::size_t kChanges = 500;  // their contents are read into this process

// Later rows are left out by position: the index goes on meanwhile. One statement locks the table
// before its snapshot, so a rebuild cannot put another one in its place in between.
constexpr char kCompare[] = R"sql(
WITH live AS (SELECT * FROM writ.changed_paths WHERE position <= $1)
SELECT position, path, live.stream, fresh.stream
FROM live FULL JOIN pg_temp.changed_paths fresh USING (position, path)
WHERE live.stream IS DISTINCT FROM fresh.stream
ORDER BY position, path LIMIT 1)sql";

Position indexed_position(Connection& connection) {
  const pqxx::row row = connection
                            .exec(
                                "SELECT p.position, h.position FROM projections p, log_head h"
                                " WHERE p.name = 'changed_paths'")
                            .at(0);
  if (row[0].as<std::int64_t>() > row[1].as<std::int64_t>())
    throw CorruptLog("the read model changed_paths is beyond the head");
  return {row[0].as<std::int64_t>()};
}

const char* difference(const pqxx::row& row) {
  if (row[2].is_null()) return "the row is missing";
  if (row[3].is_null()) return "the event did not change that";
  return "stream";
}

}  // namespace

CheckedIndex check_changed_paths(const std::string& conninfo, const WorkProgress& progress) {
  Connection connection(conninfo);
  connection.exec(
      "SET statement_timeout = 0; SET client_connection_check_interval = '200ms';"
      " SET work_mem = '16MB'; SET search_path = pg_temp, writ;"
      " CREATE TEMPORARY TABLE changed_paths (LIKE writ.changed_paths)");
  const Position end = indexed_position(connection);
  for (Position done; done < end;) {
    const Position before = done;
    done = index_events(connection, before, end, kChanges, KeepErased::kYes);
    if (done == before)
      throw CorruptLog("position " + std::to_string(before.value + 1) + ": the event is missing");
    progress(done.value, end.value);
  }
  const pqxx::result wrong = connection.exec_params(kCompare, {std::to_string(end.value)});
  if (!wrong.empty())
    throw CorruptLog(std::string("changed_paths row ") + wrong[0][1].c_str() + " at position " +
                     wrong[0][0].c_str() + ": " + difference(wrong[0]));
  const pqxx::result rows = connection.exec("SELECT count(*) FROM pg_temp.changed_paths");
  return {end, rows[0][0].as<std::int64_t>()};
}

}  // namespace writ
