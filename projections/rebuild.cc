#include "projections/rebuild.h"

#include <algorithm>

#include "events/array_literal.h"
#include "events/batch.h"
#include "events/connection.h"

namespace writ {
namespace {

constexpr std::int64_t kChunk = 10'000;  // positions a statement: bounds the server's memory

constexpr char kUnknownType[] =
    "SELECT position, type FROM events WHERE starts_with(stream, $1) AND type <> ALL ($2::text[])"
    " ORDER BY position LIMIT 1";

void refuse_unknown_types(Connection& connection, const std::string& stream_prefix,
                          const std::vector<std::string>& known_types) {
  ArrayLiteral types;
  for (const std::string& type : known_types) types.add(type);
  const pqxx::result unknown =
      connection.exec_params(kUnknownType, {stream_prefix, std::move(types).take()});
  if (!unknown.empty())
    throw CorruptLog(std::string("the event at position ") + unknown[0][0].c_str() +
                     " has the type \"" + unknown[0][1].c_str() +
                     "\", which this program does not know; use a newer one");
}

}  // namespace

RebuildResult rebuild(const std::string& conninfo, const InlineProjection& projection,
                      const std::string& table, const std::string& stream_prefix,
                      const std::vector<std::string>& known_types,
                      const std::function<void(std::int64_t, std::int64_t)>& progress) {
  Connection connection(conninfo);
  connection.exec("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0");
  prepare_batch_statements(connection, {});
  const std::int64_t head = begin_and_lock_head(connection).position.value;
  refuse_unknown_types(connection, stream_prefix, known_types);
  connection.exec("DELETE FROM " + table);
  for (std::int64_t done = 0; done < head;) {
    const std::int64_t last = std::min(done + kChunk, head);
    connection.exec_params(fold_of_log(projection, "$1", "$2"),
                           {std::to_string(done + 1), std::to_string(last)});
    done = last;
    progress(done, head);
  }
  const pqxx::result updated = connection.exec_params(
      "UPDATE projections SET version = $1, position = $2 WHERE name = $3 RETURNING name",
      {std::to_string(projection.version), std::to_string(head), projection.name});
  if (updated.size() != 1) throw CorruptLog("there is no projection named " + projection.name);
  const auto rows = connection.exec("SELECT count(*) FROM " + table)[0][0].as<std::int64_t>();
  connection.exec("COMMIT");
  return {head, rows};
}

}  // namespace writ
