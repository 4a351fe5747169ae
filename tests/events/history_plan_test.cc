#include <boost/test/unit_test.hpp>

#include <regex>

#include "events/connection.h"
#include "events/history.h"
#include "tests/support/test_database.h"

namespace writ {
namespace {

constexpr std::int64_t kEvents = 1'000'000;

/// A long log: 2,000 records in 20 domains, 50 actors of whom one wrote little, and one setting
/// that hardly ever changed.
void fill(Connection& owner) {
  owner.exec(R"sql(
SET synchronous_commit = off; SET statement_timeout = 0;
INSERT INTO events (position, stream, version, type, recorded_at, actor, reason, request_id,
                    command_id, payload, payload_salt, envelope, leaf_hash)
SELECT i, 'settings/v1::d' || i % 20 || ':p' || i % 2000, (i - 1) / 2000 + 1, 'settings.updated',
       '2026-01-01'::timestamptz + i * interval '1 second',
       CASE WHEN i % 100000 = 7 THEN 'rare' ELSE 'actor' || i % 50 END, '', '', gen_random_uuid(),
       '{}', '\x00', '{}', decode(repeat('00', 32), 'hex')
FROM generate_series(1, 1000000) i;
INSERT INTO changed_paths (path, position, stream)
SELECT CASE WHEN i % 100000 = 7 THEN 'pod_template_name' ELSE 'run.default_queue' END, i,
       'settings/v1::d' || i % 20 || ':p' || i % 2000
FROM generate_series(1, 1000000) i;
UPDATE log_head SET position = 1000000, tree_size = 1000000;
ANALYZE events; ANALYZE changed_paths)sql");
}

/// The 8 KiB blocks that a page of `query` touches.
long blocks(Connection& connection, const HistoryQuery& query) {
  std::string values;
  for (const std::string& value : query.values) values += (values.empty() ? "" : ",") + value;
  connection.exec("DEALLOCATE ALL; PREPARE page (bigint, bigint, bigint, text[], text) AS " +
                  history_sql(query.by, query.order));
  const pqxx::result plan = connection.exec(
      "EXPLAIN (ANALYZE, BUFFERS) EXECUTE page (" + std::to_string(query.from.value) + "," +
      std::to_string(query.to.value) + "," + std::to_string(query.limit) + "," +
      connection.quote("{" + values + "}") + "," + connection.quote(query.stream) + ")");
  std::string text;
  for (const pqxx::row& row : plan) text += row[0].as<std::string>() + "\n";
  BOOST_TEST(text.find("Seq Scan") == std::string::npos, text);
  long sum = 0;
  std::smatch found;
  const std::regex buffers(R"(Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?)");
  BOOST_REQUIRE_MESSAGE(std::regex_search(text, found, buffers), text);
  for (std::size_t i = 1; i <= 2; ++i)
    if (found[i].matched) sum += std::stol(found[i]);
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(history_of_a_million_events)

BOOST_AUTO_TEST_CASE(a_page_by_each_index_touches_about_as_many_blocks_as_it_has_events) {
  using By = HistoryQuery::By;
  const TestDatabase database;
  Connection owner(database.owner());
  fill(owner);
  Connection connection(database.app());
  const std::string stream = "settings/v1::d7:p7";
  struct Row {
    const char* name;
    By by;
    std::vector<std::string> values;
  };
  const Row rows[] = {
      {"position", By::kPosition, {}},
      {"record", By::kStream, {stream}},
      {"actor", By::kActor, {"actor7"}},
      {"an actor who wrote little", By::kActor, {"rare"}},
      {"an actor who wrote nothing", By::kActor, {"nobody"}},
      {"domain", By::kDomain, {"d7"}},
      {"setting", By::kPaths, {"run.default_queue"}},
      {"settings", By::kPaths, {"run.default_queue", "pod_template_name", "labels"}},
      {"a setting that hardly changed", By::kPaths, {"pod_template_name"}},
      {"a record's setting", By::kStreamPaths, {"run.default_queue"}},
  };
  for (const Row& row : rows)
    for (const Order order : {Order::kNewestFirst, Order::kOldestFirst})
      for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{1, kEvents},
                                     {kEvents / 2, kEvents / 2 + 200'000}})
        BOOST_TEST_CONTEXT(row.name << " from " << from) {
          HistoryQuery query{row.by, row.values, stream, {from}, {to}, order, 50};
          // Fifty events, the ones before them, three levels of index each, and rows that no
          // visibility map vouches for yet.
          BOOST_TEST(blocks(connection, query) < 1500);
        }
}

BOOST_AUTO_TEST_CASE(a_time_is_found_by_halving) {
  const TestDatabase database;
  Connection owner(database.owner());
  owner.exec(
      "INSERT INTO events (position, stream, version, type, recorded_at, actor, reason, request_id,"
      " command_id, payload, payload_salt, envelope, leaf_hash) SELECT i, 's', i, 't',"
      " 'epoch'::timestamptz + i / 3 * interval '1 second', 'a', '', '', gen_random_uuid(), '{}',"
      " '\\x00', '{}', '\\x00' FROM generate_series(1, 100) i;"
      " UPDATE log_head SET position = 100, tree_size = 100");
  // Three events a second: at second s the last one is 3 s + 2.
  const auto at = [&](std::int64_t micros) {
    return position_at(owner, Timestamp(std::chrono::microseconds(micros))).value;
  };
  BOOST_CHECK_EQUAL(at(-1), 0);
  BOOST_CHECK_EQUAL(at(0), 2);
  for (std::int64_t second = 1; second < 33; ++second) {
    BOOST_CHECK_EQUAL(at(second * 1'000'000), 3 * second + 2);
    BOOST_CHECK_EQUAL(at(second * 1'000'000 - 1), 3 * second - 1);
  }
  BOOST_CHECK_EQUAL(at(33'000'000), 100);
  BOOST_CHECK_EQUAL(at(99'000'000), 100);
  owner.exec("UPDATE log_head SET position = 0, tree_size = 0");
  BOOST_CHECK_EQUAL(at(5'000'000), 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
