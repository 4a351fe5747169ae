#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <set>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/in_parallel.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

constexpr int kThreads = 16;
constexpr int kRecords = 24;
constexpr int kSteps = 120;

Json record_key(int record) {
  return key_json("d" + std::to_string(record % 3), "p" + std::to_string(record));
}

Json read_request(int record) { return Json::object({{"key", record_key(record)}}); }

struct Level {
  long version = 0;
  std::string queue;
};

/// What the record itself says, in the answer of GetSettingsForEdit.
Level own_level(const HttpAnswer& answer) {
  require(answer.status == 200, "not read: " + answer.body);
  const Json body = answer.json();
  const Json& level = body.at("levels").elements().back();
  const Json* version = level.find("version");
  if (version == nullptr) return {};
  return {std::stol(version->text()),
          level.at("settings").at("run").at("defaultQueue").at("stringValue").text()};
}

/// One client of both processes.
class Mixer {
 public:
  Mixer(int thread, std::uint16_t one, std::uint16_t two)
      : thread_(thread),
        random_(static_cast<unsigned>(thread)),
        clients_{ApiClient(one), ApiClient(two)} {}

  /// Reads through one process, writes through either, and sees its write through the other.
  /// Answers the written queue, "" when another writer was quicker.
  std::string step(int n) {
    const int record = static_cast<int>(random_() % kRecords);
    ApiClient& first = clients_[random_() % 2];
    const std::size_t writer = random_() % 2;
    const Level before = own_level(first.call("GetSettingsForEdit", read_request(record)));
    const std::string queue = "t" + std::to_string(thread_) + "-" + std::to_string(n);
    const HttpAnswer answer =
        before.version == 0
            ? clients_[writer].call("CreateSettings",
                                    create_json(record_key(record), queue_settings(queue)))
            : clients_[writer].call(
                  "UpdateSettings",
                  update_json(record_key(record), queue_settings(queue), before.version));
    if (answer.status != 200) {
      require(answer.code() == "failed_precondition" || answer.code() == "already_exists",
              "refused: " + answer.body);
      return "";
    }
    require(answer.version() == before.version + 1, "a version was skipped: " + answer.body);
    const Level after =
        own_level(clients_[1 - writer].call("GetSettingsForEdit", read_request(record)));
    require(after.version >= answer.version(), "the other process does not see the write");
    require(after.version > answer.version() || after.queue == queue,
            "the other process sees another write in its place");
    return queue;
  }

 private:
  const int thread_;
  std::mt19937 random_;
  std::array<ApiClient, 2> clients_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(two_processes_on_one_database)

BOOST_AUTO_TEST_CASE(keep_one_log_under_mixed_load) {
  const TestDatabase database;
  WritProcess one(database);
  WritProcess two(database);
  std::mutex mutex;
  std::set<std::string> accepted;
  std::atomic<int> lost = 0;
  in_parallel(kThreads, [&](int thread) {
    Mixer mixer(thread, one.port(), two.port());
    for (int n = 0; n < kSteps; ++n) {
      const std::string queue = mixer.step(n);
      const std::lock_guard lock(mutex);
      if (queue.empty())
        ++lost;
      else
        accepted.insert(queue);
    }
  });
  std::set<std::string> recorded;
  for (const Row& row : query(database.conninfo(),
                              "SELECT payload::jsonb #>> '{run,defaultQueue,stringValue}'"
                              " FROM writ.events"))
    recorded.insert(row[0]);
  BOOST_TEST((recorded == accepted));
  BOOST_TEST(lost > 0, "the load was too light for a conflict");
  BOOST_TEST_MESSAGE(accepted.size() << " accepted, " << lost << " lost a race");
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
  for (WritProcess* writ : {&one, &two}) BOOST_TEST(writ->stop() == 0);
}

// One process's commits are nothing that the other has acknowledged: it must not take them for
// another log.
BOOST_AUTO_TEST_CASE(take_turns) {
  const TestDatabase database;
  WritProcess one(database);
  WritProcess two(database);
  ApiClient first(one.port());
  ApiClient second(two.port());
  const Json key = key_json("a");
  BOOST_TEST(first.call("CreateSettings", create_json(key, queue_settings("q"))).version() == 1);
  for (long version = 1; version < 21; ++version) {
    ApiClient& client = version % 2 == 0 ? first : second;
    BOOST_TEST(
        client.call("UpdateSettings", update_json(key, queue_settings("q"), version)).version() ==
        version + 1);
  }
  // The one that was killed leaves nothing that the other trips over.
  one.kill_hard();
  BOOST_TEST(second.call("UpdateSettings", update_json(key, queue_settings("q"), 21)).version() ==
             22);
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

// An idempotency key is the database's, not a process's.
BOOST_AUTO_TEST_CASE(answer_a_retry_alike) {
  const TestDatabase database;
  WritProcess one(database);
  WritProcess two(database);
  const HttpFields key = {{"Idempotency-Key", "k1"}};
  const Json request = create_json(key_json("a"), queue_settings("q"));
  std::atomic<int> accepted = 0;
  in_parallel(16, [&](int i) {
    ApiClient client(i % 2 == 0 ? one.port() : two.port());
    const auto answer = client.call("CreateSettings", request, key);
    require(answer.version() == 1, answer.body);
    ++accepted;
  });
  BOOST_TEST(accepted == 16);
  // Both know the head, whoever moved it.
  for (const WritProcess* writ : {&one, &two})
    BOOST_TEST(ApiClient(writ->port()).get("/readyz").body ==
               "{\"ready\":true,\"headPosition\":\"1\"}\n");
  BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") == "1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
