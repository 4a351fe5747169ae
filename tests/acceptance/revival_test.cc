#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <future>

#include "events/connection.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/private_data.h"
#include "tests/acceptance/watching.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Json kRead = Json::object({{"key", key_json("a")}});
const std::string kEnded = "the private PostgreSQL has ended by itself; starting it again";
const std::string kRuns = "the private PostgreSQL runs again";

Json update(long version) {
  return update_json(key_json("a"), queue_settings("q" + std::to_string(version)), version);
}

long count(const std::string& text, const std::string& part) {
  long found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

/// How many servers there are on a cluster; their sessions count too.
long servers_on(const std::filesystem::path& cluster) {
  long found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code error;
    if (std::isdigit(entry.path().filename().c_str()[0]) != 0 &&
        std::filesystem::read_symlink(entry.path() / "cwd", error) == cluster)
      ++found;
  }
  return found;
}

struct Served {
  PrivateData data;
  WritProcess writ{{"--data-dir", data.path()}};
  ApiClient client{writ.port()};

  bool runs_again(long times) {
    return wait_until([&] { return count(writ.log(), kRuns) == times; });
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_private_postgresql_that_is_killed)

BOOST_FIXTURE_TEST_CASE(is_started_again_and_everything_goes_on_by_itself, Served) {
  BOOST_REQUIRE(
      client.call("CreateSettings", create_json(key_json("a"), queue_settings("q"))).version() ==
      1);
  Watch watch(writ.port(), 0);
  BOOST_REQUIRE(watch.until([](const Watched& told) { return told.positions.size() == 1; }));
  for (long round = 1; round <= 2; ++round) {
    const pid_t before = data.postmaster();
    BOOST_REQUIRE(before != 0);
    const auto killed = std::chrono::steady_clock::now();
    data.kill_postmaster();
    BOOST_TEST(wait_until([&] { return count(writ.log(), kEnded) == round; }));
    BOOST_REQUIRE(runs_again(round));
    BOOST_TEST_MESSAGE("down for " << std::chrono::duration_cast<milliseconds>(
                                          std::chrono::steady_clock::now() - killed)
                                          .count()
                                   << " ms");
    BOOST_TEST(data.postmaster() != before);
    BOOST_TEST(wait_until([&] { return client.get("/readyz").status == 200; }));
    BOOST_TEST(client.call("GetSettings", kRead).status == 200);
    const auto write = client.call("UpdateSettings", update(round));
    BOOST_TEST(write.version() == round + 1, write.body);
  }
  BOOST_TEST(broken_invariants(data.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
  BOOST_TEST(watch.until([](const Watched& told) { return told.positions.size() == 3; }));
  BOOST_TEST(watch.stop().positions == (std::vector<long>{1, 2, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(writ.stop() == 0, writ.news());
  BOOST_TEST(data.postmaster() == 0);
}

// Two servers on one cluster would destroy it.
BOOST_FIXTURE_TEST_CASE(is_not_started_before_its_last_session_has_gone, Served) {
  const std::string session = data.conninfo();
  auto busy = std::async(std::launch::async, [&] {
    // A sleep would end with the server; work does not look for it.
    Connection connection(session);
    return connection
        .exec(
            "DO $$ DECLARE t timestamptz = now(); BEGIN"
            " WHILE clock_timestamp() < t + interval '4 s' LOOP END LOOP; END $$")
        .size();
  });
  BOOST_REQUIRE(wait_until([&] {
    return query_one(session,
                     "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %'"
                     " AND state = 'active'") == "1";
  }));
  data.kill_postmaster();
  BOOST_TEST(writ.await_log(kEnded));
  const auto is_over = [&] { return busy.wait_for(seconds(0)) == std::future_status::ready; };
  BOOST_TEST(!is_over());
  BOOST_TEST(data.postmaster() == 0);
  BOOST_TEST(wait_until([&] { return is_over() || count(writ.log(), kRuns) > 0; }));
  BOOST_TEST(is_over());
  busy.wait();  // whether it could still say that it was done does not matter here
  BOOST_TEST(runs_again(1), writ.news());
  BOOST_TEST(wait_until([&] { return client.get("/readyz").status == 200; }));
  BOOST_TEST(count(writ.news(), "shared memory") == 0, writ.news());
}

BOOST_AUTO_TEST_CASE(is_not_started_once_the_service_stops) {
  PrivateData data;
  for (const std::string moment : {"at once", "when it was noticed", "when the next one begins"}) {
    BOOST_TEST_CONTEXT(moment) {
      WritProcess writ({"--data-dir", data.path()});
      const std::filesystem::path cluster =
          std::filesystem::read_symlink("/proc/" + std::to_string(data.postmaster()) + "/cwd");
      data.kill_postmaster();
      if (moment != "at once") BOOST_TEST(writ.await_log(kEnded));
      if (moment == "when the next one begins")
        BOOST_TEST(wait_until([&] { return data.postmaster() != 0; }));
      BOOST_TEST(writ.stop() == 0, writ.news());
      BOOST_TEST(data.postmaster() == 0);
      // Not one that has not written its file yet, either.
      BOOST_TEST(wait_until([&] { return servers_on(cluster) == 0; }, seconds(5)));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_default_run)

BOOST_AUTO_TEST_CASE(that_is_idle_stops_at_once) {
  PrivateData data;
  for (const bool first : {true, false}) {
    BOOST_TEST_CONTEXT((first ? "the first run" : "a later run")) {
      WritProcess writ({"--data-dir", data.path()});
      ApiClient client(writ.port());
      BOOST_TEST(client.get("/readyz").status == 200);
      // A new database is written out while nobody waits for it.
      const std::string checkpoint = "SELECT checkpoint_lsn FROM pg_control_checkpoint()";
      const std::string before = query_one(data.conninfo(), checkpoint);
      if (first)
        BOOST_TEST(wait_until([&] { return query_one(data.conninfo(), checkpoint) != before; }));
      const auto begin = std::chrono::steady_clock::now();
      BOOST_TEST(writ.stop() == 0);
      const auto took =
          std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
      BOOST_TEST_MESSAGE(took.count() << " ms");
      BOOST_TEST((took < seconds(5)), took.count() << " ms: " << writ.news());
      BOOST_TEST(writ.news().find("warning") == std::string::npos, writ.news());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
