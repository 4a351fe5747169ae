#include <signal.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <future>
#include <optional>
#include <utility>

#include "events/connection.h"
#include "service/listen_address.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/local_postgres.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

const Json kRead = Json::object({{"key", key_json("a")}});

Json update(long version) {
  return update_json(key_json("a"), queue_settings("q" + std::to_string(version)), version);
}

/// A port that nobody listens on now.
std::uint16_t free_port() {
  ListenAddress address;
  close(open_listener(address, 1));
  return address.port;
}

/// While the database is away: nothing pretends to work, and nothing but the truth is said.
void check_outage(ApiClient& client) {
  for (const char* method : {"GetSettings", "GetSettingsForEdit"}) {
    const auto read = client.call(method, kRead);
    BOOST_TEST(read.status == 503);
    BOOST_TEST(read.code() == "unavailable");
    BOOST_TEST(read.message() == "the database is unavailable; try again later");
  }
  const auto write = client.call("UpdateSettings", update(2));
  BOOST_TEST(write.status == 503);
  BOOST_TEST(write.code() == "unavailable");
  const auto ready = client.get("/readyz");
  BOOST_TEST(ready.status == 503);
  BOOST_TEST(ready.json().at("ready").text() == "false");
  BOOST_TEST(ready.json().at("reason").text() == "the database is unavailable");
  BOOST_TEST(client.get("/healthz").status == 200);
  // What is wrong with the command itself is still told.
  BOOST_TEST(client.call("GetSettings", Json::object()).message() == "key is required");
}

void check_recovered(ApiClient& client, const std::string& conninfo) {
  BOOST_TEST(wait_until([&] { return client.get("/readyz").status == 200; }));
  BOOST_TEST(client.call("GetSettings", kRead).status == 200);
  const auto write = client.call("UpdateSettings", update(2));
  BOOST_TEST(write.version() == 3, write.body);
  BOOST_TEST(query_one(conninfo, "SELECT count(*) FROM writ.events") == "3");
  BOOST_TEST(broken_invariants(conninfo) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

void make_two_events(ApiClient& client) {
  client.call("CreateSettings", create_json(key_json("a"), queue_settings("q")));
  BOOST_REQUIRE(client.call("UpdateSettings", update(1)).version() == 2);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(an_outage_of_the_database)

BOOST_AUTO_TEST_CASE(is_told_and_survived_when_the_server_is_restarted) {
  LocalPostgres postgres;
  query(postgres.conninfo(), "CREATE DATABASE service");
  const std::string owner = postgres.conninfo("service");
  WritProcess writ(
      {"--database-url", postgres.conninfo("service", "writ_app"), "--migrate-url", owner});
  ApiClient client(writ.port());
  make_two_events(client);
  postgres.stop();
  check_outage(client);
  postgres.start();
  check_recovered(client, owner);

  // A restart between two requests costs nobody an error.
  postgres.stop();
  postgres.start();
  BOOST_TEST(client.call("UpdateSettings", update(3)).version() == 4);
  BOOST_TEST(client.call("GetSettings", kRead).status == 200);
  BOOST_TEST(writ.stop() == 0, writ.log());
}

BOOST_AUTO_TEST_CASE(is_told_and_survived_when_connections_are_refused) {
  const TestDatabase database;
  const std::string server = TestDatabase::empty().conninfo({{"dbname", "postgres"}});
  WritProcess writ(database);
  ApiClient client(writ.port());
  make_two_events(client);
  query(server, "ALTER DATABASE " + database.name() + " ALLOW_CONNECTIONS false");
  query(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1",
        {database.name()});
  check_outage(client);
  query(server, "ALTER DATABASE " + database.name() + " ALLOW_CONNECTIONS true");
  check_recovered(client, database.conninfo());
}

// A database that answers, but not what is asked.
BOOST_AUTO_TEST_CASE(may_be_one_of_rights) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  make_two_events(client);
  query(database.conninfo(), "REVOKE SELECT ON writ.log_head, writ.settings FROM writ_app");
  const auto ready = client.get("/readyz");
  BOOST_TEST(ready.status == 503);
  BOOST_TEST(ready.body.find("\"ready\":false") != std::string::npos, ready.body);
  const auto read = client.call("GetSettings", kRead);
  BOOST_TEST(read.code() == "internal");
  const std::string id = read.header("X-Request-Id");
  BOOST_TEST(read.message() == "internal error, request id " + id);
  BOOST_TEST(client.call("UpdateSettings", update(2)).code() == "internal");
  // The operator is told what the client is not.
  BOOST_TEST(writ.log().find("writ: request " + id + ": ") != std::string::npos, writ.log());
  query(database.conninfo(), "GRANT SELECT ON writ.log_head, writ.settings TO writ_app");
  check_recovered(client, database.conninfo());
}

// The database may start after the service.
BOOST_AUTO_TEST_CASE(at_the_start_is_waited_for) {
  LocalPostgres postgres;
  query(postgres.conninfo(), "CREATE DATABASE service");
  postgres.stop();
  const std::uint16_t port = free_port();
  WritProcess writ({"--database-url", postgres.conninfo("service", "writ_app"), "--migrate-url",
                    postgres.conninfo("service"), "--listen", "127.0.0.1:" + std::to_string(port)},
                   {}, WritProcess::kDoNotWait);
  BOOST_TEST(writ.await_log("waiting for the database"));
  // It holds its port already, and says that it is not ready.
  ApiClient early(port);
  BOOST_TEST(early.get("/healthz").status == 200);
  const auto ready = early.get("/readyz");
  BOOST_TEST(ready.status == 503);
  BOOST_TEST(ready.json().at("reason").text() == "the service is starting");
  const auto read = early.call("GetSettings", kRead);
  BOOST_TEST(read.status == 503);
  BOOST_TEST(read.code() == "unavailable");
  BOOST_TEST(read.header("Retry-After") == "1");
  postgres.start();
  writ.await_serving();
  BOOST_TEST(ApiClient(writ.port()).get("/readyz").status == 200);
}

/// A backend that is stopped in its tracks, until this object goes.
class StoppedBackend {
 public:
  /// One of the service's for which `condition` holds, on columns of pg_stat_activity.
  StoppedBackend(const std::string& conninfo, const std::string& condition)
      : pid_(
            std::stoi(query_one(conninfo,
                                "SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE datname ="
                                " 'service' AND application_name = 'writ' AND " +
                                    condition))) {
    BOOST_REQUIRE(pid_ != 0);
    BOOST_REQUIRE(kill(pid_, SIGSTOP) == 0);
  }
  ~StoppedBackend() { kill(pid_, SIGCONT); }
  StoppedBackend(const StoppedBackend&) = delete;
  StoppedBackend& operator=(const StoppedBackend&) = delete;

 private:
  const pid_t pid_;
};

// The database answers, but the one connection that writes does not.
BOOST_AUTO_TEST_CASE(of_the_writer_alone_is_told_too) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  make_two_events(client);
  Connection holder(database.conninfo());  // without the session's time-outs
  holder.exec("BEGIN; SELECT FROM writ.log_head FOR UPDATE");
  auto write = std::async(std::launch::async, [port = writ.port()] {
    return ApiClient(port).call("UpdateSettings", update(2)).status;
  });
  // It waits for ten seconds before it gives up.
  std::string reason;
  BOOST_TEST(wait_until([&] {
    const auto ready = client.get("/readyz");
    if (ready.status == 503) reason = ready.json().at("reason").text();
    return ready.status == 503;
  }));
  BOOST_TEST(reason.starts_with("no change has got into the log for "), reason);
  holder.exec("COMMIT");
  write.get();
  BOOST_TEST(wait_until([&] { return client.get("/readyz").status == 200; }));
}

// Everything of it hangs, as when its disk does: nobody waits for longer than a moment.
BOOST_AUTO_TEST_CASE(that_leaves_its_connections_open_is_told_in_time) {
  LocalPostgres postgres;
  query(postgres.conninfo(), "CREATE DATABASE service");
  const std::string owner = postgres.conninfo("service");
  WritProcess writ({"--database-url", owner});
  ApiClient client(writ.port());
  BOOST_TEST(client.get("/readyz").status == 200);
  const std::string probe = "query = 'SELECT position FROM log_head'";
  std::optional<StoppedBackend> stopped(std::in_place, postgres.conninfo(), probe);
  for (int i = 0; i < 2; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto ready = client.get("/readyz");
    BOOST_TEST(ready.status == 503);
    BOOST_TEST(ready.json().at("reason").text() == "the database does not answer");
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)));
  }
  BOOST_TEST(client.get("/healthz").status == 200);
  stopped.reset();
  BOOST_TEST(wait_until([&] { return client.get("/readyz").status == 200; }));
  stopped.emplace(postgres.conninfo(), probe);
  BOOST_TEST(client.get("/readyz").status == 503);
  BOOST_TEST(writ.stop() == 0, writ.log());  // although the question is still open
}

// A lock that somebody forgot: each caller waits for as long as it said, and is told the truth.
BOOST_AUTO_TEST_CASE(of_one_table_alone_keeps_nobody_longer_than_they_wait) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  make_two_events(client);
  Connection holder(database.conninfo());  // without the session's time-outs
  holder.exec("BEGIN; LOCK TABLE writ.settings, writ.events IN ACCESS EXCLUSIVE MODE");
  const std::pair<std::string, std::string> reads[] = {
      {kService + "GetSettings", R"({"key":{"domain":"a"}})"},
      {"/writ.audit.v1.AuditService/ListChanges", "{}"}};
  for (const auto& [method, request] : reads) {
    const auto begin = std::chrono::steady_clock::now();
    const auto answer =
        client.send("POST", method, "application/json", request, {{"Connect-Timeout-Ms", "500"}});
    BOOST_TEST(answer.status == 504, method);
    BOOST_TEST(answer.code() == "deadline_exceeded", method);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(4)));
  }
  // PostgreSQL itself gives up after ten seconds.
  const auto patient = client.call("GetSettings", kRead);
  BOOST_TEST(patient.status == 503);
  BOOST_TEST(patient.code() == "unavailable");
  holder.exec("COMMIT");
  BOOST_TEST(client.call("GetSettings", kRead).status == 200);
}

// Nor does a question that never comes back keep the service from stopping.
BOOST_AUTO_TEST_CASE(that_holds_a_request_does_not_hold_up_the_end) {
  LocalPostgres postgres;
  query(postgres.conninfo(), "CREATE DATABASE service");
  WritProcess writ({"--database-url", postgres.conninfo("service"), "--read-connections", "1"});
  ApiClient client(writ.port());
  BOOST_REQUIRE(client.call("GetSettings", kRead).status == 200);
  const StoppedBackend stopped(postgres.conninfo(), "query LIKE '%FROM settings WHERE key%'");
  auto stuck = std::async(std::launch::async, [port = writ.port()] {
    return ApiClient(port).call("GetSettings", kRead).status;
  });
  // Two connections, neither idle: this one, and the one that is stuck.
  BOOST_REQUIRE(wait_until([&] {
    const std::string metrics = client.get("/metrics").body;
    return metrics.find("\nwrit_connections 2\n") != std::string::npos &&
           metrics.find("\nwrit_connections_idle 0\n") != std::string::npos;
  }));
  BOOST_TEST(writ.stop(std::chrono::seconds(30)) == 1, writ.log());
  BOOST_TEST(writ.log().find("stopped without waiting for it") != std::string::npos, writ.log());
  BOOST_TEST(stuck.get() != 200);
}

// A restored backup: positions that were given out would be given out again.
BOOST_AUTO_TEST_CASE(after_which_the_log_is_shorter_stops_all_writing) {
  LocalPostgres postgres;
  query(postgres.conninfo(), "CREATE DATABASE service");
  const std::string owner = postgres.conninfo("service");
  WritProcess writ({"--database-url", owner});
  ApiClient client(writ.port());
  make_two_events(client);
  query(postgres.conninfo(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'service'");
  query(postgres.conninfo(), "CREATE DATABASE backup TEMPLATE service");
  BOOST_TEST(client.call("UpdateSettings", update(2)).version() == 3);
  query(postgres.conninfo(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'service'");
  query(postgres.conninfo(), "ALTER DATABASE service RENAME TO lost");
  query(postgres.conninfo(), "ALTER DATABASE backup RENAME TO service");
  const auto write = client.call("UpdateSettings", update(2));
  BOOST_TEST(write.code() == "unavailable");
  const auto ready = client.get("/readyz");
  BOOST_TEST(ready.status == 503);
  BOOST_TEST(ready.json().at("reason").text().find("behind position 3") != std::string::npos,
             ready.body);
  BOOST_TEST(query_one(owner, "SELECT count(*) FROM writ.events") == "2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
