#include <boost/test/unit_test.hpp>

#include <csignal>
#include <future>
#include <map>
#include <random>
#include <set>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/crash_load.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/private_data.h"
#include "tests/acceptance/random_settings.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

std::vector<std::string> arguments(const PrivateData& data) { return {"--data-dir", data.path()}; }

/// What the log has of a write, by the queue that it wrote.
struct Recorded {
  std::string stream;
  long version = 0;
  std::string key;  // the idempotency key remembered for this very event
};

std::map<std::string, Recorded> recorded(const std::string& conninfo) {
  std::map<std::string, Recorded> found;
  for (const Row& row :
       query(conninfo,
             "SELECT payload::jsonb #>> '{run,defaultQueue,stringValue}', stream, version,"
             " idempotency_key FROM writ.events LEFT JOIN writ.commands"
             " ON first_position = position")) {
    BOOST_REQUIRE_MESSAGE(!found.contains(row[0]), row[0] << " was recorded twice");
    found[row[0]] = {row[1], std::stol(row[2]), row[3]};
  }
  return found;
}

/// Every write that was ever sent is where its sender was told it is.
void check_writes(const std::vector<SentWrite>& sent, const std::string& conninfo) {
  const auto log = recorded(conninfo);
  std::set<std::string> known;
  for (const SentWrite& write : sent) {
    known.insert(write.id);
    const auto found = log.find(write.id);
    const bool there = found != log.end();
    if (write.fate == SentWrite::Fate::kAccepted)
      BOOST_REQUIRE_MESSAGE(there && found->second.version == write.version,
                            write.id << " was acknowledged as version " << write.version
                                     << " and is " << (there ? "another" : "lost"));
    if (write.fate == SentWrite::Fate::kRejected)
      BOOST_REQUIRE_MESSAGE(!there, write.id << " was rejected and is recorded");
    if (!there) continue;
    const std::string stream = "settings/" + std::string("v1::") +
                               CrashLoad::key(write.record).at("domain").text() + ":" +
                               CrashLoad::key(write.record).at("project").text();
    BOOST_REQUIRE_MESSAGE(found->second.stream == stream, write.id << " is in another record");
    BOOST_REQUIRE_MESSAGE(found->second.key == (write.keyed ? write.id : "NULL"),
                          write.id << " is there by half");
  }
  for (const auto& [id, event] : log)
    BOOST_REQUIRE_MESSAGE(known.contains(id), "nobody sent " << id);
  BOOST_TEST(broken_invariants(conninfo) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

/// Sends what nobody knows the fate of once more: it is then there once, or certainly not.
/// Answers how many had been recorded the first time.
int retry_unknown(std::vector<SentWrite>& sent, ApiClient& client, const std::string& conninfo) {
  const auto before = recorded(conninfo);
  int were_there = 0;
  for (SentWrite& write : sent) {
    if (write.fate != SentWrite::Fate::kUnknown || !write.keyed) continue;
    const auto answer = CrashLoad::send(client, write);
    const auto found = before.find(write.id);
    if (found != before.end()) {
      ++were_there;
      BOOST_TEST(answer.version() == found->second.version, answer.body);
    }
    write.fate = answer.status == 200 ? SentWrite::Fate::kAccepted : SentWrite::Fate::kRejected;
    write.version = answer.version();
    if (answer.status != 200)
      BOOST_TEST((answer.code() == "failed_precondition" || answer.code() == "already_exists"),
                 answer.body);
  }
  return were_there;
}

/// A service on a private PostgreSQL, its load, and all that was ever sent.
struct Rounds {
  PrivateData data;
  std::unique_ptr<WritProcess> writ = std::make_unique<WritProcess>(arguments(data));
  CrashLoad load;
  std::vector<SentWrite> sent;
  std::size_t taken = 0;  // of the load's
  int unknown = 0, were_there = 0;

  /// Runs the load until `wanted` more writes were accepted, then `crash`.
  template <typename Crash>
  void crash_under_load(int round, long wanted, Crash crash) {
    load.begin();
    auto running = std::async(std::launch::async, [&] { load.run(round, writ->port()); });
    const bool busy =
        wait_until([&] { return load.accepted() >= wanted; }, std::chrono::seconds(60));
    crash();
    running.get();
    BOOST_REQUIRE_MESSAGE(busy, "the load got stuck: " << writ->news());
    sent.insert(sent.end(), load.sent().begin() + static_cast<std::ptrdiff_t>(taken),
                load.sent().end());
    taken = load.sent().size();
  }

  void start_again_and_check() {
    writ = std::make_unique<WritProcess>(arguments(data));
    check_writes(sent, data.conninfo());
    check_retries();
  }

  void check_retries() {
    for (const SentWrite& write : sent)
      unknown += write.keyed && write.fate == SentWrite::Fate::kUnknown ? 1 : 0;
    ApiClient client(writ->port());
    were_there += retry_unknown(sent, client, data.conninfo());
    check_writes(sent, data.conninfo());
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_service_that_is_killed)

BOOST_FIXTURE_TEST_CASE(loses_nothing_it_has_acknowledged, Rounds) {
  constexpr int kRounds = 10;
  const std::uint64_t seed = seed_from_environment().value_or(std::random_device()());
  BOOST_TEST_MESSAGE("WRIT_SEED=" << seed);
  std::mt19937_64 random(seed);
  const pid_t postmaster = data.postmaster();
  BOOST_REQUIRE(postmaster != 0);
  for (int round = 0; round < kRounds; ++round) {
    BOOST_TEST_CONTEXT("round " << round << " of WRIT_SEED=" << seed) {
      crash_under_load(round, 20 + static_cast<long>(random() % 150), [&] { writ->kill_hard(); });
      BOOST_TEST(data.postmaster() == postmaster);
      start_again_and_check();
      // The server was left running, and is the one that serves on.
      BOOST_TEST(data.postmaster() == postmaster);
    }
  }
  BOOST_TEST_MESSAGE(sent.size() << " writes; of " << unknown << " with unknown outcome "
                                 << were_there << " were recorded");
  BOOST_TEST(unknown > 0);

  // The machine dies: the server with the service.
  crash_under_load(kRounds, 100, [&] {
    data.kill_postmaster();
    writ->kill_hard();
  });
  start_again_and_check();
  BOOST_TEST(data.postmaster() != 0);
  BOOST_TEST(data.postmaster() != postmaster);

  BOOST_TEST(writ->stop() == 0, writ->news());
  BOOST_TEST(data.postmaster() == 0, "the private server outlives a service that was stopped");
}

// The service lives on, and finds out what became of the commit it was in.
BOOST_FIXTURE_TEST_CASE(is_not_the_only_thing_that_may_die, Rounds) {
  constexpr int kRounds = 6;
  const std::string backend =
      "SELECT pid FROM pg_stat_activity WHERE usename = 'writ_app' AND backend_type ="
      " 'client backend' ORDER BY state_change DESC LIMIT 1";
  for (int round = 0; round < kRounds; ++round) {
    BOOST_TEST_CONTEXT("round " << round) {
      crash_under_load(round, 40 + 7 * round, [&] {
        const auto found = query(data.conninfo(), backend);
        BOOST_REQUIRE(found.size() == 1u);
        // PostgreSQL starts all of its sessions anew after the first, only one after the second.
        kill(std::stoi(found[0][0]), round % 2 == 0 ? SIGKILL : SIGTERM);
        const long before = load.accepted();
        const bool recovered =
            wait_until([&] { return load.accepted() >= before + 40; }, std::chrono::seconds(60));
        load.stop();
        BOOST_TEST(recovered, writ->news());
      });
      check_writes(sent, data.conninfo());
      check_retries();
    }
  }
  BOOST_TEST_MESSAGE(sent.size() << " writes; of " << unknown << " with unknown outcome "
                                 << were_there << " were recorded");
  BOOST_TEST(writ->stop() == 0, writ->news());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_first_start)

BOOST_AUTO_TEST_CASE(that_was_cut_short_leaves_nothing_that_the_next_one_trips_over) {
  PrivateData data;
  {
    WritProcess writ(arguments(data), {}, WritProcess::kDoNotWait);
    BOOST_TEST(writ.await_log("preparing a private PostgreSQL"));
    BOOST_TEST(writ.stop() == 1);
    BOOST_TEST(writ.log().ends_with("writ: interrupted while starting\n"), writ.log());
  }
  {
    WritProcess writ(arguments(data), {}, WritProcess::kDoNotWait);
    BOOST_TEST(writ.await_log("preparing a private PostgreSQL"));
    writ.kill_hard();
  }
  BOOST_TEST(data.postmaster() == 0);
  WritProcess writ(arguments(data));
  BOOST_TEST(ApiClient(writ.port()).get("/readyz").status == 200);
  BOOST_TEST(writ.stop() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_data_directory)

BOOST_AUTO_TEST_CASE(has_one_service_at_a_time) {
  PrivateData data;
  WritProcess first(arguments(data));
  const WritRun second = run_writ({"serve", "--listen", "127.0.0.1:0", "--data-dir", data.path()});
  BOOST_TEST(second.status == 1);
  BOOST_TEST(second.err == "writ: the data directory " + data.path() +
                               " is in use by another writ, process " +
                               std::to_string(first.pid()) + "\n");
  ApiClient client(first.port());
  const Json create = create_json(key_json("a"), queue_settings("q"));
  BOOST_TEST(client.call("CreateSettings", create).version() == 1);
  BOOST_TEST(first.stop() == 0);
  // What was written is there for the next one.
  WritProcess next(arguments(data));
  BOOST_TEST(ApiClient(next.port()).call("CreateSettings", create).code() == "already_exists");
  // In the default run the serving role cannot change the log.
  BOOST_TEST(ApiClient(next.port()).get("/readyz").body ==
             "{\"ready\":true,\"headPosition\":\"1\"}\n");
  BOOST_TEST(next.stop() == 0);

  // A start that fails late does not leave its server behind.
  const TestDatabase database;
  WritProcess other(database);
  const WritRun failed = run_writ({"serve", "--data-dir", data.path(), "--listen",
                                   "127.0.0.1:" + std::to_string(other.port())});
  BOOST_TEST(failed.status == 1);
  BOOST_TEST(data.postmaster() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
