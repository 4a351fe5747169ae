#include <boost/test/unit_test.hpp>

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
  WritProcess writ({"--database-url", postgres.conninfo("service", "writ_app"), "--migrate-url",
                    postgres.conninfo("service")},
                   {}, WritProcess::kDoNotWait);
  BOOST_TEST(writ.await_log("waiting for the database"));
  postgres.start();
  writ.await_serving();
  BOOST_TEST(ApiClient(writ.port()).get("/readyz").status == 200);
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
