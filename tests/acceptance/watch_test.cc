#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <future>
#include <list>
#include <map>
#include <random>
#include <thread>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/random_settings.h"
#include "tests/acceptance/watching.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/postgres_proxy.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

/// Writes to some records until told to stop.
class Writer {
 public:
  explicit Writer(std::uint16_t port)
      : running_(std::async(std::launch::async, [this, port] { run(port); })) {}
  ~Writer() { stop(); }
  void stop() {
    stopping_ = true;
    if (running_.valid()) running_.get();
  }
  long written() const { return written_; }

 private:
  void run(std::uint16_t port) {
    ApiClient client(port);
    std::map<std::string, long> versions;
    for (int i = 0; !stopping_; ++i) {
      const std::string domain = "d" + std::to_string(i % 3);
      long& version = versions[domain];
      Json request = create_json(key_json(domain), queue_settings("q" + std::to_string(i)));
      if (version > 0) request["version"] = std::to_string(version);
      if (client.call(version > 0 ? "UpdateSettings" : "CreateSettings", request).status == 200) {
        ++version;
        ++written_;
      }
    }
  }

  std::atomic<bool> stopping_ = false;
  std::atomic<long> written_ = 0;
  std::future<void> running_;
};

std::vector<long> one_to(long last) {
  std::vector<long> all;
  for (long i = 1; i <= last; ++i) all.push_back(i);
  return all;
}

long head_of(const TestDatabase& database) {
  return std::stol(query_one(database.conninfo(), "SELECT position FROM writ.log_head"));
}

/// `on(database)` with a proxy in between for all but the migrations.
std::vector<std::string> through(const PostgresProxy& proxy, const TestDatabase& database) {
  return {"--database-url",
          database.conninfo({{"user", "writ_app"}, {"host", proxy.host()}, {"port", "5432"}}),
          "--migrate-url", database.conninfo()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(watching)

BOOST_AUTO_TEST_CASE(in_pieces_cut_anywhere_is_the_whole_log) {
  const TestDatabase database;
  WritProcess writ(database);
  WritProcess other(database);
  const auto seed = seed_from_environment().value_or(std::random_device()());
  BOOST_TEST_MESSAGE("WRIT_SEED=" << seed);
  std::mt19937_64 random(seed);
  Writer writer(writ.port()), rival(other.port());
  std::vector<long> seen;
  long after = 0;
  const auto next = [&](const Watched& piece) {
    seen.insert(seen.end(), piece.positions.begin(), piece.positions.end());
    after = piece.resume;
  };
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(3);
  for (int piece = 0; piece < 12 || seen.size() < 100; ++piece) {
    BOOST_REQUIRE(std::chrono::steady_clock::now() < patience);
    const std::uint16_t port = piece % 2 == 0 ? writ.port() : other.port();
    if (random() % 2 == 0) {  // by the caller's own time limit
      const std::string time = std::to_string(100 + random() % 400);
      const Watched one = Watch(port, after, Json::object(), {{"Connect-Timeout-Ms", time}}).end();
      BOOST_TEST(one.code == "deadline_exceeded");
      next(one);
    } else {  // by a caller that goes away
      const std::size_t wanted = 1 + random() % 30;
      Watch one(port, after);
      BOOST_TEST(one.until([&](const Watched& told) { return told.positions.size() >= wanted; }));
      next(one.stop());
    }
  }
  writer.stop();
  rival.stop();
  const long head = head_of(database);
  Watch rest(writ.port(), after);
  BOOST_TEST(rest.until([&](const Watched& told) { return told.resume >= head; }));
  next(rest.stop());
  BOOST_TEST(seen == one_to(head), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sees_a_change_as_it_comes_and_only_what_is_wanted) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  const auto write = [&](const Json& key, const Json& settings, long version) {
    const HttpAnswer answer =
        version == 1 ? client.call("CreateSettings", create_json(key, settings))
                     : client.call("UpdateSettings", update_json(key, settings, version - 1));
    BOOST_REQUIRE_MESSAGE(answer.status == 200, answer.body);
    return head_of(database);
  };
  write(key_json("d"), queue_settings("before"), 1);
  Watch watch(writ.port(), -1,
              Json::object({{"key", key_json("d")}, {"path", "run.default_queue"}}));
  BOOST_REQUIRE(watch.begins());
  std::vector<long> wanted;
  for (int round = 1; round <= 5; ++round) {
    Json settings = queue_settings("q" + std::to_string(round));
    wanted.push_back(write(key_json("d"), settings, 2 * round));
    BOOST_REQUIRE(watch.until([&](const Watched& told) {
      return !told.positions.empty() && told.positions.back() == wanted.back();
    }));
    // Another setting, and another record.
    settings["labels"]["state"] = "SETTING_STATE_UNSET";
    write(key_json("d"), settings, 2 * round + 1);
    write(key_json("e"), settings, round);
  }
  const Watched told = watch.stop();
  BOOST_TEST(told.positions == wanted, boost::test_tools::per_element());
  for (const std::string& text : told.changes) {
    const Json message = Json::parse(text);
    const Json& change = message.at("change");
    BOOST_TEST(change.at("position") == message.at("position"));
    BOOST_TEST(change.at("key") == key_json("d"));
    BOOST_TEST(text.find("run.default_queue") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(sees_what_is_done_to_the_log_when_it_is_of_all_records) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  client.call("CreateSettings", create_json(key_json("d"), queue_settings("one")));
  client.call("UpdateSettings", update_json(key_json("d"), queue_settings("two"), 1));
  Watch live(writ.port(), -1), later(writ.port(), 2);
  Watch of_domain(writ.port(), 2, Json::object({{"key", key_json("d")}}));
  BOOST_REQUIRE(live.begins() && later.begins() && of_domain.begins());
  BOOST_REQUIRE(client
                    .send("POST", "/writ.admin.v1.AdminService/Erase", "application/json",
                          R"({"position":"1"})", {{"Writ-Reason", "a secret"}})
                    .status == 200);
  client.call("UpdateSettings", update_json(key_json("d"), queue_settings("three"), 2));
  const auto at_end = [](const Watched& told) { return told.resume >= 4; };
  for (Watch* watch : {&live, &later, &of_domain}) BOOST_REQUIRE(watch->until(at_end));
  Watch again(writ.port(), 2);
  BOOST_REQUIRE(again.until(at_end));
  const std::vector<long> both = {3, 4}, changed = {4};
  BOOST_TEST(live.stop().positions == both, boost::test_tools::per_element());
  BOOST_TEST(later.stop().positions == both, boost::test_tools::per_element());
  BOOST_TEST(again.stop().positions == both, boost::test_tools::per_element());
  BOOST_TEST(of_domain.stop().positions == changed, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(goes_on_when_the_database_lost_all_its_connections) {
  const TestDatabase database;
  WritProcess writ(database);
  Watch watch(writ.port(), 0);
  Writer writer(writ.port());
  const auto write_more = [&] {
    const long before = writer.written();
    return wait_until([&] { return writer.written() > before + 20; }, std::chrono::minutes(1));
  };
  BOOST_REQUIRE(write_more());
  query(database.conninfo(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid()");
  BOOST_REQUIRE(write_more());
  writer.stop();
  const long head = head_of(database);
  BOOST_TEST(watch.until([&](const Watched& told) { return told.resume >= head; }));
  const Watched told = watch.stop();
  BOOST_TEST(told.code == "");
  BOOST_TEST(told.positions == one_to(head), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(costs_next_to_nothing_while_nothing_happens) {
  const TestDatabase database;
  const PostgresProxy proxy;
  WritProcess writ(through(proxy, database));
  // What the service asks its database in a window that has at least one heartbeat of each watcher.
  constexpr std::chrono::seconds kWindow{11};
  const auto asked = [&] {
    const std::uint64_t before = proxy.round_trips();
    std::this_thread::sleep_for(kWindow);
    return proxy.round_trips() - before;
  };
  const std::uint64_t without = asked();
  BOOST_TEST(without > 0u);
  std::list<Watch> watchers;
  for (int i = 0; i < 200; ++i) watchers.emplace_back(writ.port(), -1);
  for (Watch& one : watchers) BOOST_REQUIRE(one.begins());
  // Less than one more in a second by all of them together; did each ask once in ten seconds, it
  // were 200 more. What the service has to do now and then is not in every window.
  const std::uint64_t limit = without + kWindow.count();
  std::uint64_t with = asked();
  for (int again = 0; again < 3 && with > limit; ++again) with = std::min(with, asked());
  BOOST_TEST_MESSAGE(without << " questions in " << kWindow.count() << " s, " << with
                             << " with 200 watchers");
  BOOST_TEST(with <= limit);
  for (Watch& one : watchers) BOOST_TEST(!one.over());
  writ.signal(SIGTERM);
  for (Watch& one : watchers) BOOST_TEST(one.end().code == "unavailable");
  BOOST_TEST(writ.wait(std::chrono::minutes(1)) == 0);
}

BOOST_AUTO_TEST_CASE(from_a_position_in_the_future_is_refused) {
  const TestDatabase database;
  WritProcess writ(database);
  const auto refusal = [&](long after, Json filter) {
    const Watched refused = Watch(writ.port(), after, std::move(filter)).end();
    return refused.code + ": " + refused.message;
  };
  BOOST_TEST(refusal(5, Json::object()) ==
             "out_of_range: invalid after_position: position 5 is in the future; the log is at "
             "position 0");
  BOOST_TEST(refusal(-1, Json::object({{"fromPosition", "5"}})) ==
             "out_of_range: invalid filter.from_position: position 5 is in the future; the log is "
             "at position 0");
  BOOST_TEST(refusal(-1, Json::object({{"since", "9999-01-01T00:00:00Z"}})) ==
             "out_of_range: invalid filter.since: 9999-01-01T00:00:00.000000Z is in the future");
  // Up to there is what a watch may be asked for.
  Watch bounded(writ.port(), -1,
                Json::object({{"toPosition", "5"}, {"until", "9999-01-01T00:00:00Z"}}));
  BOOST_TEST(bounded.begins());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
