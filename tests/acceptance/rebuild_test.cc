#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <future>
#include <stdexcept>

#include "events/connection.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

/// Whether the rebuild that goes on waits for a lock on a table.
constexpr char kWaits[] =
    "SELECT count(*) FROM pg_locks own JOIN pg_locks wanted USING (pid)"
    " WHERE own.locktype = 'advisory' AND own.granted AND NOT wanted.granted"
    " AND own.classid::bigint = hashtext('writ.builds')::bigint & 4294967295"
    " AND wanted.relation = $1::regclass AND wanted.database ="
    " (SELECT oid FROM pg_database WHERE datname = current_database())";

/// A place in the life of a rebuild: it waits there for a table that somebody else holds.
struct Moment {
  const char* name;
  const char* table;
  const char* hold;
};
constexpr Moment kMoments[] = {
    {"before it has begun", "writ.builds", "LOCK TABLE writ.builds"},
    {"while it folds", "writ.events", "LOCK TABLE writ.events"},
    {"while it waits for the head", "writ.log_head", "LOCK TABLE writ.log_head IN EXCLUSIVE MODE"},
    {"with the head's lock, while it waits for readers", "writ.settings",
     "SELECT FROM writ.settings"},
};

/// A service whose rows are damaged, and rebuilds of them that are killed, while clients change
/// other records and read them back.
struct Damaged {
  Damaged() : writ(database) {
    ApiClient client(writ.port());
    for (int i = 0; i < kRecords; ++i)
      client.call("CreateSettings",
                  create_json(key_json("d" + std::to_string(i)), queue_settings("one")));
    rows = row_of_first();
    for (int w = 0; w < 2; ++w) load.push_back(std::async(std::launch::async, [&, w] { work(w); }));
  }
  ~Damaged() { stop = true; }

  void work(int number) {
    ApiClient mine(writ.port());
    const Json key = key_json("w" + std::to_string(number));
    const auto expect = [](bool right, const HttpAnswer& answer) {
      if (!right) throw std::runtime_error(std::to_string(answer.status) + " " + answer.body);
    };
    long version = mine.call("CreateSettings", create_json(key, queue_settings("q0"))).version();
    while (!stop) {
      const std::string queue = "q" + std::to_string(version);
      const HttpAnswer answer =
          mine.call("UpdateSettings", update_json(key, queue_settings(queue), version));
      expect(answer.version() == ++version, answer);
      const HttpAnswer read = mine.call("GetSettings", Json::object({{"key", key}}));
      expect(read.body.find("\"" + queue + "\"") != std::string::npos, read);
      ++done;
    }
  }

  /// What the clients saw is right, and so is what is left.
  void end() {
    stop = true;
    for (auto& one : load) BOOST_CHECK_NO_THROW(one.get());
    BOOST_TEST(done > 20);
    BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
               boost::test_tools::per_element());
  }

  std::string row_of_first() const {
    std::string all;
    for (const Row& row : query(database.conninfo(),
                                "SELECT key, data, version FROM writ.settings WHERE key IN"
                                " ('v1::d0:', 'v1::d1:') ORDER BY key"))
      for (const std::string& field : row) all += field + " ";
    return all;
  }

  void damage() {
    query(database.conninfo(), "DELETE FROM writ.settings WHERE key = 'v1::d0:'");
    query(database.conninfo(),
          "UPDATE writ.settings SET data = '{}', version = 7 WHERE key = 'v1::d1:'");
    damaged = row_of_first();
    BOOST_TEST_REQUIRE(damaged != rows);
  }

  std::vector<std::string> command() const {
    auto arguments = on(database);
    arguments.insert(arguments.begin(), {"rebuild", "settings"});
    return arguments;
  }
  std::unique_ptr<Child> start() const {
    auto arguments = command();
    arguments.insert(arguments.begin(), writ_program());
    return std::make_unique<Child>(ChildOptions{arguments, {}, {"PG", "WRIT_"}});
  }

  /// A rebuild to the end, after one that was killed.
  void rebuild_again() {
    const WritRun run = run_writ(command());
    BOOST_TEST(run.status == 0, run.err);
    BOOST_TEST(row_of_first() == rows);
    BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.builds") == "0");
  }

  static constexpr int kRecords = 12;
  TestDatabase database;
  WritProcess writ;
  std::string rows, damaged;
  std::atomic<bool> stop = false;
  std::atomic<int> done = 0;
  std::vector<std::future<void>> load;  // whose end is waited for
};

}  // namespace

BOOST_AUTO_TEST_SUITE(rebuilding_the_settings)

BOOST_AUTO_TEST_CASE(makes_them_what_the_log_says_while_the_service_runs) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  for (const char* domain : {"a", "b", "c"})
    client.call("CreateSettings", create_json(key_json(domain), queue_settings("one")));
  client.call("UpdateSettings", update_json(key_json("b"), queue_settings("two"), 1));
  const Json rows = settings_rows(database.conninfo());
  query(database.conninfo(),
        "UPDATE writ.settings SET data = '{}', version = 7 WHERE key = 'v1::b:'");
  query(database.conninfo(), "DELETE FROM writ.settings WHERE key = 'v1::a:'");
  query(database.conninfo(), "INSERT INTO writ.settings SELECT 9, 'v1::x:', '{}', 1, now(), now()");
  BOOST_TEST(broken_invariants(database.conninfo()).size() == 1u);

  auto arguments = on(database);
  arguments.insert(arguments.begin(), {"rebuild", "settings"});
  const WritRun rebuilt = run_writ(arguments);
  BOOST_TEST(rebuilt.status == 0, rebuilt.err);
  BOOST_TEST(rebuilt.out == "rebuilt settings: 3 rows from 4 events\n");
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
  BOOST_TEST(settings_rows(database.conninfo()) == rows);
  const auto next =
      client.call("UpdateSettings", update_json(key_json("b"), queue_settings("x"), 2));
  BOOST_TEST(next.version() == 3);
}

BOOST_FIXTURE_TEST_CASE(ends_right_wherever_it_was_killed_under_load, Damaged) {
  for (const Moment& moment : kMoments) {
    BOOST_TEST_CONTEXT("killed " << moment.name) {
      damage();
      Connection holder(database.conninfo());
      holder.exec(std::string("BEGIN; ") + moment.hold);
      const auto killed = start();
      BOOST_TEST_REQUIRE(wait_until(
          [&] { return query_one(database.conninfo(), kWaits, {moment.table}) != "0"; }));
      killed->signal(SIGKILL);
      BOOST_TEST((killed->wait(std::chrono::seconds(10)) == -SIGKILL));
      holder.exec("ROLLBACK");
      BOOST_TEST(row_of_first() == damaged);
      rebuild_again();
    }
  }
  end();
}

BOOST_FIXTURE_TEST_CASE(ends_right_whenever_it_was_killed_under_load, Damaged) {
  const auto begun = std::chrono::steady_clock::now();
  rebuild_again();
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  constexpr int kKills = 8;
  int killed = 0;
  for (int i = 0; i < kKills; ++i) {
    BOOST_TEST_CONTEXT("killed after " << i << "/" << kKills << " of " << whole.count() << " ms") {
      damage();
      const auto child = start();
      const auto ended = child->wait(whole * i / kKills);
      if (!ended) child->signal(SIGKILL);
      if (child->wait(std::chrono::seconds(10)) == -SIGKILL) ++killed;
      const std::string left = row_of_first();
      BOOST_TEST((left == damaged || left == rows));
      rebuild_again();
    }
  }
  BOOST_TEST(killed > kKills / 2);
  end();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
