#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>

#include "events/connection.h"
#include "events/history.h"
#include "projections/changed_paths.h"
#include "schema/protojson.h"
#include "service/audit_changes.h"
#include "tests/support/test_database.h"

namespace writ {
namespace {

using By = HistoryQuery::By;

constexpr std::int64_t kEvents = 1'000'000;
constexpr std::array kOrders = {Order::kNewestFirst, Order::kOldestFirst};

/// A long log: 2,000 records in 20 domains, 50 actors of whom one wrote little, and one setting
/// that hardly ever changed. An event a second.
void fill(Connection& owner) {
  owner.exec(R"sql(
SET synchronous_commit = off; SET statement_timeout = 0;
INSERT INTO events (position, stream, version, type, recorded_at, actor, reason, request_id,
                    command_id, payload, payload_salt, envelope, leaf_hash)
SELECT i, 'settings/v1::d' || i % 20 || ':p' || i % 2000, (i - 1) / 2000 + 1, 'settings.updated',
       '2020-01-01'::timestamptz + i * interval '1 second',
       CASE WHEN i % 100000 = 7 THEN 'rare' ELSE 'actor' || i % 50 END, '', '', gen_random_uuid(),
       CASE WHEN i % 100000 = 7
            THEN '{"podTemplateName":{"state":"SETTING_STATE_VALUE","stringValue":"a"}}'
            ELSE '{"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":"' || i || '"}}}'
       END, '\x00', '{"detail":{}}', decode(repeat('00', 32), 'hex')
FROM generate_series(1, 1000000) i;
INSERT INTO changed_paths (path, position, stream)
SELECT CASE WHEN i % 100000 = 7 THEN 'pod_template_name' ELSE 'run.default_queue' END, i,
       'settings/v1::d' || i % 20 || ':p' || i % 2000
FROM generate_series(1, 1000000) i;
UPDATE log_head SET position = 1000000, tree_size = 1000000;
ANALYZE events; ANALYZE changed_paths)sql");
}

/// Filled once for all the cases that only read it.
struct LongLog {
  LongLog() {
    Connection owner(database.owner());
    fill(owner);
  }
  const TestDatabase database;
};

LongLog& long_log() {
  static LongLog log;
  return log;
}

/// The 8 KiB blocks of tables and indexes that `read` touches, again when it comes back to one.
template <typename Read>
long blocks(Connection& connection, Read read) {
  const auto so_far = [&] {
    return connection
        .exec(
            "SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::bigint FROM pg_class WHERE"
            " relnamespace = 'writ'::regnamespace")[0][0]
        .as<long>();
  };
  connection.exec("BEGIN");
  const long before = so_far();
  read();
  const long sum = so_far() - before;
  connection.exec("ROLLBACK");
  return sum;
}

/// A filter of all these members.
std::string all_of(const std::vector<std::string>& filters) {
  std::string json;
  for (const std::string& one : filters) json += (json.empty() ? "" : ",") + one;
  return "{" + json + "}";
}

audit::v1::ListChangesRequest request_of(const std::string& filter, Order order) {
  audit::v1::ListChangesRequest request;
  const auto read = read_json(filter, request.mutable_filter(), JsonMode::kRequest);
  BOOST_REQUIRE_MESSAGE(!read.error, filter);
  request.set_oldest_first(order == Order::kOldestFirst);
  return request;
}

struct IndexRow {
  const char* name;
  By by;
  std::vector<std::string> values;
  std::size_t found, found_later;
};

struct PageRow {
  std::vector<std::string> filters;
  long examined;
  int found;
};

/// What reading `events` may touch, out of a million: each, and the one before it, through an index
/// three levels deep, and once the way to them.
long most_blocks(long events) { return 10 * events + 40; }

/// Finding the position of a time: twenty probes of four blocks, and the head.
constexpr long kTimeBlocks = 90;

std::string name_of(Order order) { return order == Order::kNewestFirst ? "newest" : "oldest"; }

}  // namespace

BOOST_AUTO_TEST_SUITE(history_of_a_million_events)

BOOST_AUTO_TEST_CASE(is_read_by_each_index_without_touching_more_than_the_events_it_answers) {
  Connection connection(long_log().database.app());
  const std::string stream = "settings/v1::d7:p7";
  const IndexRow rows[] = {
      {"position", By::kPosition, {}, 50, 50},
      {"record", By::kStream, {stream}, 50, 50},
      {"actor", By::kActor, {"actor7"}, 50, 50},
      {"an actor who wrote little", By::kActor, {"rare"}, 10, 2},
      {"an actor who wrote nothing", By::kActor, {"nobody"}, 0, 0},
      {"domain", By::kDomain, {"d7"}, 50, 50},
      {"setting", By::kPaths, {"run.default_queue"}, 50, 50},
      {"settings", By::kPaths, {"run.default_queue", "pod_template_name", "labels"}, 50, 50},
      {"a setting that hardly changed", By::kPaths, {"pod_template_name"}, 10, 2},
      {"a record's setting", By::kStreamPaths, {"run.default_queue"}, 50, 50},
  };
  for (const IndexRow& row : rows)
    for (const Order order : kOrders)
      for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{1, kEvents},
                                     {kEvents / 2, kEvents / 2 + 200'000}})
        BOOST_TEST_CONTEXT(row.name << " from " << from << ", " << name_of(order) << " first") {
          HistoryQuery query{row.by, row.values, stream, {from}, {to}, order, 50};
          std::size_t found = 0;
          const long touched =
              blocks(connection, [&] { found = read_history(connection, query).size(); });
          BOOST_TEST(found == (from == 1 ? row.found : row.found_later));
          BOOST_TEST(touched <= most_blocks(static_cast<long>(found)));
        }
}

BOOST_AUTO_TEST_CASE(is_paged_through_any_filter_without_touching_more_than_it_examines) {
  Connection connection(long_log().database.app());
  constexpr char kRecord[] = R"("key":{"domain":"d7","project":"p7"})";
  constexpr char kDomain[] = R"("key":{"domain":"d7"},"below":true)";
  constexpr char kActor[] = R"("actor":"actor7")", kOther[] = R"("actor":"actor8")";
  constexpr char kRareActor[] = R"("actor":"rare")";
  constexpr char kSetting[] = R"("path":"run")", kRareSetting[] = R"("path":"pod_template_name")";
  constexpr char kPositions[] = R"("fromPosition":"345700","toPosition":"345800")";
  constexpr char kSince[] = R"("since":"2020-01-05T00:00:00Z")";
  constexpr char kSecond[] = R"("until":"2020-01-05T00:00:01Z")";
  constexpr char kMinutes[] = R"("until":"2020-01-05T00:10:00Z")";
  constexpr char kDay[] = R"("until":"2020-01-06T00:00:00Z")";
  const PageRow rows[] = {
      {{}, 200, 50},
      {{kRecord}, 200, 50},
      {{kRecord, kActor}, 200, 50},
      {{kRecord, kOther}, 500, 0},
      {{kRecord, kSetting}, 200, 50},
      {{kRecord, kSetting, kOther}, 500, 0},
      {{kDomain}, 200, 50},
      {{kDomain, kActor}, 200, 50},
      {{kDomain, kRareActor}, 10, 10},
      {{kDomain, kOther}, 10'000, 0},
      {{kDomain, kSetting}, 1000, 50},
      {{kDomain, kRareSetting}, 10, 10},
      {{kActor, kSetting}, 2600, 50},
      {{kActor, kRareSetting}, 10, 0},
      {{kSince, kDay}, 200, 50},
      {{kSince, kSecond}, 1, 1},
      {{kSince, kDay, kRecord}, 43, 43},
      {{kSince, kDay, kRecord, kSetting}, 42, 42},
      {{kSince, kMinutes, kDomain}, 30, 30},
      {{kSince, kMinutes, kActor}, 12, 12},
      {{kSince, kSecond, kSetting}, 1, 1},
      {{kSince, kMinutes, kPositions, kDomain, kActor, kSetting}, 101, 1},
  };
  for (const PageRow& row : rows)
    for (const Order order : kOrders) {
      const std::string filter = all_of(row.filters);
      BOOST_TEST_CONTEXT(filter << ", " << name_of(order) << " first") {
        const audit::v1::ListChangesRequest request = request_of(filter, order);
        const ChangeMatcher matcher(request.filter());
        audit::v1::ListChangesResponse page;
        const long touched =
            blocks(connection, [&] { page = list_changes(connection, request, matcher); });
        const long times = matcher.since().has_value() + matcher.until().has_value();
        BOOST_TEST(page.changes_size() == row.found);
        BOOST_TEST(touched <= most_blocks(row.examined) + times * kTimeBlocks);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_time_is_found_in_twenty_probes) {
  Connection connection(long_log().database.app());
  // Second 0 of the log is that of 2020, an event came in each one after it.
  constexpr std::chrono::seconds kBegin{1'577'836'800};
  for (const std::int64_t second : {-1, 0, 1, 2, 333'333, 500'000, 777'777, 999'999, 1'000'007}) {
    const Timestamp time(kBegin + std::chrono::seconds(second));
    Position found;
    const long touched = blocks(connection, [&] { found = position_at(connection, time); });
    BOOST_TEST(found.value == std::clamp<std::int64_t>(second, 0, kEvents));
    BOOST_TEST(touched <= kTimeBlocks);
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

namespace {

constexpr int kStreams = 10'000, kVersions = 5'000;

/// What the planner knows is from when each stream had one version and each setting one change; one
/// stream has thousands since, all of one setting.
void fill_one_stream(Connection& owner) {
  const std::string last = std::to_string(kStreams), head = std::to_string(kStreams + kVersions);
  const auto insert = [&](const std::string& stream, const std::string& version,
                          const std::string& path, const std::string& positions) {
    owner.exec(
        "INSERT INTO events (position, stream, version, type, recorded_at, actor, reason,"
        " request_id, command_id, payload, payload_salt, envelope, leaf_hash) SELECT i, " +
        stream + ", " + version +
        ", 'settings.updated', now(), 'a', '', '', gen_random_uuid(), '{}', '\\x00',"
        " '{\"detail\":{}}', decode(repeat('00', 32), 'hex') FROM " +
        positions);
    owner.exec("INSERT INTO changed_paths (path, position, stream) SELECT " + path + ", i, " +
               stream + " FROM " + positions);
  };
  insert("'settings/v1::d:p' || i", "1", "'labels.l' || i", "generate_series(1, " + last + ") i");
  owner.exec("ANALYZE events; ANALYZE changed_paths");
  insert("'settings/v1::d:hot'", "i - " + last, "'run.default_queue'",
         "generate_series(" + last + " + 1, " + head + ") i");
  owner.exec("UPDATE log_head SET position = " + head + ", tree_size = " + head);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(history_of_a_stream_that_grew)

// Two indexes begin with the stream, two with the setting: the smaller one must not be taken for
// the other's question.
BOOST_AUTO_TEST_CASE(is_read_by_the_index_of_what_is_asked_for) {
  const TestDatabase database;
  Connection owner(database.owner());
  fill_one_stream(owner);
  Connection connection(database.app());
  const std::string hot = "settings/v1::d:hot", cold = "settings/v1::d:p1";
  constexpr Position kMiddle{kStreams + kVersions / 2}, kEnd{kStreams + kVersions};
  const HistoryQuery some{By::kPosition,       {}, "", kMiddle, {kMiddle.value + 299},
                          Order::kOldestFirst, 300};
  const HistoryQuery none{
      By::kStreamPaths, {"run.default_queue"}, cold, {1}, kEnd, Order::kNewestFirst, 50};
  std::size_t found = 0;
  std::optional<Position> position;
  for (const std::string index : {"events_stream_position", "events_stream_version_key",
                                  "changed_paths_pkey", "changed_paths_stream"}) {
    owner.exec("REINDEX INDEX " + index);
    BOOST_TEST_CONTEXT("small: " << index) {
      const auto touched = [&](auto read) { return blocks(connection, read); };
      BOOST_TEST(touched([&] { found = read_history(connection, some).size(); }) <=
                 most_blocks(300));
      BOOST_TEST(found == 300U);
      BOOST_TEST(touched([&] {
                   position = read_states(connection, {hot}, kMiddle)[0]->position;
                 }) <= most_blocks(1));
      BOOST_TEST(position->value == kMiddle.value);
      BOOST_TEST(touched([&] { position = position_of_version(connection, hot, {7}); }) <=
                 most_blocks(1));
      BOOST_TEST(position->value == kStreams + 7);
      BOOST_TEST(touched([&] { found = read_history(connection, none).size(); }) <= most_blocks(1));
      BOOST_TEST(found == 0U);
      BOOST_TEST(touched([&] {
                   position = last_positions(connection, {{cold, "run.default_queue"}}, {kEnd})[0];
                 }) <= most_blocks(1));
      BOOST_TEST(!position.has_value());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
