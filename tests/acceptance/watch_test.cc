#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <random>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

const std::string kWatch = "/writ.audit.v1.AuditService/WatchChanges";

std::string envelope(const std::string& data) {
  std::string out(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(data.size() >> shift & 0xff);
  return out + data;
}

/// What one watch told before its time was over.
struct Watched {
  std::vector<long> positions;  // of changes
  std::vector<Json> changes;
  long resume = 0;            // the last position that anything named
  std::string code, message;  // how it ended
};

Watched parse(const std::string& body, long after) {
  Watched out;
  out.resume = after;
  for (std::size_t at = 0; at + 5 <= body.size();) {
    std::size_t size = 0;
    for (std::size_t i = 1; i <= 4; ++i)
      size = size << 8 | static_cast<unsigned char>(body[at + i]);
    const Json json = Json::parse(body.substr(at + 5, size));
    if (body[at] == 2) {
      if (const Json* error = json.find("error")) {
        out.code = error->at("code").text();
        if (const Json* message = error->find("message")) out.message = message->text();
      }
    } else {
      // The first tells from where on; 0 is left out.
      const Json* const position = json.find("position");
      out.resume = position == nullptr ? 0 : std::stol(position->text());
      if (const Json* change = json.find("change")) {
        out.positions.push_back(std::stol(change->at("position").text()));
        out.changes.push_back(*change);
      }
    }
    at += 5 + size;
  }
  return out;
}

/// Watches for a time; `after` -1 is "only what comes".
Watched watch(std::uint16_t port, long after, std::chrono::milliseconds time,
              Json filter = Json::object()) {
  Json request = Json::object({{"filter", std::move(filter)}});
  if (after >= 0) request["afterPosition"] = std::to_string(after);
  ApiClient client(port);
  const HttpAnswer answer =
      client.send("POST", kWatch, "application/connect+json", envelope(request.dump()),
                  {{"Connect-Timeout-Ms", std::to_string(time.count())}});
  return parse(answer.body, std::max(after, 0L));
}

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

}  // namespace

BOOST_AUTO_TEST_SUITE(watching)

BOOST_AUTO_TEST_CASE(in_pieces_cut_anywhere_is_the_whole_log) {
  const TestDatabase database;
  WritProcess writ(database);
  WritProcess other(database);
  const auto seed = std::random_device()();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random(seed);
  Writer writer(writ.port()), rival(other.port());
  std::vector<long> seen;
  long after = 0;
  for (int piece = 0; piece < 12; ++piece) {
    const auto time = std::chrono::milliseconds(100 + random() % 400);
    const Watched one = watch(piece % 2 == 0 ? writ.port() : other.port(), after, time);
    BOOST_TEST(one.code == "deadline_exceeded");
    seen.insert(seen.end(), one.positions.begin(), one.positions.end());
    after = one.resume;
  }
  writer.stop();
  rival.stop();
  const long head = std::stol(query_one(database.conninfo(), "SELECT position FROM writ.log_head"));
  const Watched rest = watch(writ.port(), after, std::chrono::milliseconds(1500));
  seen.insert(seen.end(), rest.positions.begin(), rest.positions.end());
  BOOST_TEST(seen == one_to(head), boost::test_tools::per_element());
  BOOST_TEST(head > 50);
}

BOOST_AUTO_TEST_CASE(sees_a_change_as_it_comes_and_only_what_is_wanted) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  BOOST_REQUIRE_EQUAL(
      client.call("CreateSettings", create_json(key_json("d"), queue_settings("a"))).status, 200);
  auto watching = std::async(std::launch::async, [&] {
    return watch(writ.port(), -1, std::chrono::milliseconds(2500),
                 Json::object({{"key", key_json("d")}, {"path", "run.default_queue"}}));
  });
  // One that comes before the watch has begun is not told; until one is, there are more.
  for (long version = 1;
       watching.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready; ++version) {
    Json settings = queue_settings("q" + std::to_string(version / 2));
    settings["labels"] = Json::object(
        {{"state", version % 2 == 0 ? "SETTING_STATE_UNSET" : "SETTING_STATE_INHERIT"}});
    client.call("UpdateSettings", update_json(key_json("d"), settings, version));
    client.call(version == 1 ? "CreateSettings" : "UpdateSettings",
                version == 1 ? create_json(key_json("e"), settings)
                             : update_json(key_json("e"), settings, version - 1));
  }
  const Watched seen = watching.get();
  BOOST_TEST(seen.changes.size() > 2);
  for (const Json& change : seen.changes) {
    BOOST_TEST(change.at("key") == key_json("d"));
    BOOST_TEST(change.dump().find("run.default_queue") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(goes_on_when_the_database_lost_all_its_connections) {
  const TestDatabase database;
  WritProcess writ(database);
  auto watching = std::async(
      std::launch::async, [&] { return watch(writ.port(), 0, std::chrono::milliseconds(6000)); });
  Writer writer(writ.port());
  BOOST_REQUIRE(wait_until([&] { return writer.written() > 20; }, std::chrono::seconds(10)));
  query(database.conninfo(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid()");
  const long before = writer.written();
  BOOST_REQUIRE(
      wait_until([&] { return writer.written() > before + 20; }, std::chrono::seconds(10)));
  writer.stop();
  const long head = std::stol(query_one(database.conninfo(), "SELECT position FROM writ.log_head"));
  const Watched seen = watching.get();
  BOOST_TEST(seen.positions == one_to(head), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(costs_next_to_nothing_while_nothing_happens) {
  const TestDatabase database;
  WritProcess writ(database);
  const auto in = [&](std::chrono::seconds time) {
    const auto statements = [&] {
      return std::stol(query_one(database.conninfo(),
                                 "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE"
                                 " datname = current_database()"));
    };
    const long before = statements();
    std::this_thread::sleep_for(time);
    return statements() - before;
  };
  // PostgreSQL counts late: until all that has begun was counted.
  const auto settle = [&] {
    BOOST_TEST(
        wait_until([&] { return in(std::chrono::seconds(1)) < 4; }, std::chrono::seconds(10)));
  };
  constexpr std::chrono::seconds kTime{5};
  settle();
  const long without = in(kTime);
  std::vector<std::future<Watched>> watchers;
  for (int i = 0; i < 200; ++i)
    watchers.push_back(std::async(std::launch::async, [&] {
      return watch(writ.port(), -1, std::chrono::milliseconds(16'000));
    }));
  settle();
  BOOST_TEST(in(kTime)-without < kTime.count());
  for (auto& one : watchers) BOOST_TEST(one.get().code == "deadline_exceeded");
}

BOOST_AUTO_TEST_CASE(from_a_position_in_the_future_is_refused) {
  const TestDatabase database;
  WritProcess writ(database);
  const Watched refused = watch(writ.port(), 5, std::chrono::seconds(5));
  BOOST_TEST(refused.code == "out_of_range");
  BOOST_TEST(refused.message ==
             "invalid after_position: position 5 is in the future; the log is at position 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
