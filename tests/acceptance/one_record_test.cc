#include <boost/test/unit_test.hpp>

#include <atomic>
#include <barrier>
#include <map>
#include <mutex>
#include <random>

#include "schema/base64.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/in_parallel.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/tokens.h"
#include "tests/acceptance/writ_process.h"
#include "writ/settings/v1/errors.pb.h"

namespace writ::test {
namespace {

constexpr int kWriters = 64;

std::string actor(int writer) { return "writer-" + std::to_string(writer); }

std::vector<std::string> actors() {
  std::vector<std::string> all;
  for (int i = 0; i < kWriters; ++i) all.push_back(actor(i));
  return all;
}

Json update(const Json& key, int writer, long version) {
  return update_json(key, queue_settings(actor(writer)), version);
}

/// Who won a version, as the detail of a conflict tells it.
struct Winner {
  std::uint64_t version = 0;
  std::string actor;
  std::string time;  // microseconds since 1970
  std::uint64_t position = 0;

  bool operator==(const Winner&) const = default;
};

/// The one detail of a conflict; throws when the answer is anything else.
Winner winner_in(const HttpAnswer& answer) {
  require(answer.status == 400 && answer.code() == "failed_precondition",
          "no conflict: " + std::to_string(answer.status) + " " + answer.body);
  const Json body = answer.json();
  const auto& details = body.at("details").elements();
  require(details.size() == 1 && details[0].at("type").text() == "writ.settings.v1.VersionConflict",
          "not one VersionConflict: " + answer.body);
  const auto bytes = decode_base64(details[0].at("value").text());
  settings::v1::VersionConflict conflict;
  require(bytes && conflict.ParseFromString(*bytes), "not readable: " + answer.body);
  require(details[0].at("debug").at("actor").text() == conflict.actor(), "two truths");
  return {conflict.current_version(), conflict.actor(),
          std::to_string(conflict.time().seconds() * 1'000'000 + conflict.time().nanos() / 1000),
          conflict.position()};
}

/// Whatever version the record has by now, it has the settings of whom that version belongs to.
void check_row(ApiClient& client, const Json& key) {
  const Json body = client.call("GetSettingsForEdit", Json::object({{"key", key}})).json();
  const Json& level = body.at("levels").elements().back();
  const long version = std::stol(level.at("version").text());
  const std::string owner = "writer-" + std::to_string(version - 2);
  require(level.at("settings") == queue_settings(owner), "not of " + owner + ": " + level.dump());
}

/// Who really won each version, from the log.
std::map<std::uint64_t, Winner> winners_in_log(const TestDatabase& database) {
  std::map<std::uint64_t, Winner> winners;
  for (const Row& row :
       query(database.conninfo(),
             "SELECT version, actor, (extract(epoch FROM recorded_at) * 1000000)::bigint, position"
             " FROM writ.events"))
    winners[std::stoull(row[0])] = {std::stoull(row[0]), row[1], row[2], std::stoull(row[3])};
  return winners;
}

struct Fixture {
  const TestDatabase database;
  const Tokens tokens{actors()};
  WritProcess writ{tokens.with(on(database))};
  std::vector<ApiClient> clients;

  Fixture() {
    for (int i = 0; i < kWriters; ++i) {
      clients.emplace_back(writ.port());
      clients.back().always(tokens.as(actor(i)));
    }
  }
  ApiClient& client(int i) { return clients[static_cast<std::size_t>(i)]; }
  void check_log(long events) const {
    BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") ==
               std::to_string(events));
    BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
               boost::test_tools::per_element());
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(sixty_four_writers)

BOOST_FIXTURE_TEST_CASE(of_one_version_have_one_winner_whom_all_others_are_told, Fixture) {
  constexpr long kRounds = 10;
  const Json key = key_json("production", "analytics");
  BOOST_REQUIRE(client(0).call("CreateSettings", create_json(key, queue_settings("q"))).version() ==
                1);
  std::barrier barrier(kWriters);
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<std::string>> won;
  std::vector<Winner> told;
  in_parallel(kWriters, [&](int i) {
    for (long version = 1; version <= kRounds; ++version) {
      barrier.arrive_and_wait();
      const auto answer = client(i).call("UpdateSettings", update(key, i, version));
      const std::lock_guard lock(mutex);
      if (answer.status == 200)
        won[static_cast<std::uint64_t>(answer.version())].push_back(actor(i));
      else
        told.push_back(winner_in(answer));
    }
  });
  auto log = winners_in_log(database);
  BOOST_TEST(won.size() == static_cast<std::size_t>(kRounds));
  for (const auto& [version, winners] : won) {
    BOOST_TEST(winners.size() == 1u, "version " << version << " was won more than once");
    BOOST_TEST(log[version].actor == winners.front());
  }
  BOOST_TEST(told.size() == static_cast<std::size_t>(kRounds * (kWriters - 1)));
  for (const Winner& winner : told)
    BOOST_REQUIRE_MESSAGE(winner == log[winner.version],
                          "told of version " << winner.version << " by " << winner.actor);
  check_log(1 + kRounds);
}

BOOST_FIXTURE_TEST_CASE(who_try_again_all_get_through, Fixture) {
  constexpr long kWins = 5;
  const Json key = key_json("production");
  BOOST_REQUIRE(client(0).call("CreateSettings", create_json(key, queue_settings("q"))).version() ==
                1);
  std::atomic<long> tries = 0;
  in_parallel(kWriters, [&](int i) {
    std::uint64_t version = 1;
    for (long wins = 0; wins < kWins;) {
      ++tries;
      const auto answer =
          client(i).call("UpdateSettings", update(key, i, static_cast<long>(version)));
      if (answer.status == 200) {
        ++wins;
        require(answer.version() == static_cast<long>(version) + 1, "another version was won");
        version = static_cast<std::uint64_t>(answer.version());
      } else {
        const std::uint64_t now = winner_in(answer).version;
        require(now > version, "a conflict with version " + std::to_string(now));
        version = now;
      }
    }
  });
  BOOST_TEST_MESSAGE(kWriters * kWins << " wins took " << tries << " tries");
  for (const Row& row : query(database.conninfo(),
                              "SELECT actor, count(*) FROM writ.events WHERE version > 1"
                              " GROUP BY actor"))
    BOOST_TEST(row[1] == std::to_string(kWins), row[0] << " won " << row[1]);
  check_log(1 + kWriters * kWins);
}

// Each wants one version of its own, so that one transaction holds several events of the record.
BOOST_FIXTURE_TEST_CASE(of_consecutive_versions_get_them_in_order, Fixture) {
  const Json key = key_json("production");
  BOOST_REQUIRE(client(0).call("CreateSettings", create_json(key, queue_settings("q"))).version() ==
                1);
  in_parallel(kWriters, [&](int i) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      const auto answer = client(i).call("UpdateSettings", update(key, i, i + 1));
      if (answer.status == 200) {
        require(answer.version() == i + 2, answer.body);
        return check_row(client(i), key);
      }
      require(winner_in(answer).version < static_cast<std::uint64_t>(i) + 1, "came too late");
      require(std::chrono::steady_clock::now() < deadline, "never came to its turn");
    }
  });
  for (const auto& [version, winner] : winners_in_log(database))
    if (version > 1) BOOST_TEST(winner.actor == actor(static_cast<int>(version) - 2));
  const std::string shared =
      query_one(database.conninfo(),
                "SELECT count(*) FROM (SELECT recorded_at FROM writ.events GROUP BY recorded_at"
                " HAVING count(*) > 1) t");
  BOOST_TEST(shared != "0", "no two events shared a transaction");
  check_log(1 + kWriters);
}

BOOST_FIXTURE_TEST_CASE(on_a_thousand_records_lose_nothing, Fixture) {
  constexpr int kRecords = 1000;
  const auto key = [](int record) {
    return key_json("d" + std::to_string(record % 10), "p" + std::to_string(record));
  };
  std::vector<std::atomic<long>> accepted(kRecords);
  in_parallel(kWriters, [&](int i) {
    std::mt19937 random(static_cast<unsigned>(i));
    for (int record = i; record < kRecords; record += kWriters) {
      const auto answer =
          client(i).call("CreateSettings", create_json(key(record), queue_settings("q")));
      require(answer.version() == 1, "not created: " + answer.body);
      ++accepted[static_cast<std::size_t>(record)];
    }
    for (int n = 0; n < 40; ++n) {
      const int record = static_cast<int>(random() % kRecords);
      const long version = accepted[static_cast<std::size_t>(record)];
      const auto answer =
          client(i).call("UpdateSettings", update(key(record), i, std::max(1L, version)));
      if (answer.status == 200)
        ++accepted[static_cast<std::size_t>(record)];
      else
        require(answer.code() == "failed_precondition" || answer.code() == "not_found",
                "refused: " + answer.body);
    }
  });
  const auto rows = query(database.conninfo(), "SELECT key, version FROM writ.settings");
  BOOST_TEST(rows.size() == static_cast<std::size_t>(kRecords));
  long events = 0;
  for (const Row& row : rows) {
    const int record = std::stoi(row[0].substr(row[0].rfind('p') + 1));
    const long expected = accepted[static_cast<std::size_t>(record)];
    BOOST_TEST(row[1] == std::to_string(expected), row[0]);
    events += expected;
  }
  BOOST_TEST(events > kRecords + 1000);
  check_log(events);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
