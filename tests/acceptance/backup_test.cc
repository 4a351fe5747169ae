#include <boost/test/unit_test.hpp>

#include "events/errors.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/local_postgres.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

const HttpFields kKey = {{"Idempotency-Key", "before-the-dump"}};

Json first_create() { return create_json(key_json("a"), queue_settings("one")); }
Json update(long version) { return update_json(key_json("a"), queue_settings("two"), version); }

/// Three events, one of them remembered by its key.
void fill(ApiClient& client) {
  BOOST_REQUIRE(client.call("CreateSettings", first_create(), kKey).version() == 1);
  BOOST_REQUIRE(client.call("UpdateSettings", update(1)).version() == 2);
  BOOST_REQUIRE(
      client.call("CreateSettings", create_json(key_json(""), queue_settings("x"))).version() == 1);
}

void dump(const std::string& conninfo, const std::filesystem::path& file) {
  run_to_end({.arguments = {postgres_program("pg_dump"), "-Fc", "-f", file, "-d", conninfo}});
}

void restore(const std::string& conninfo, const std::filesystem::path& file,
             const std::vector<std::string>& options) {
  std::vector<std::string> arguments = {postgres_program("pg_restore"), "--exit-on-error", "-d",
                                        conninfo};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(file);
  run_to_end({.arguments = arguments});
}

std::string refusal(const std::string& conninfo, const std::string& sql) {
  try {
    query(conninfo, sql);
    return "not refused";
  } catch (const StorageError& error) {
    return error.sqlstate();
  }
}

/// The restored database is the log that was dumped, and goes on.
void check_serves_on(const std::string& owner, const std::string& app) {
  BOOST_TEST(broken_invariants(owner) == std::vector<std::string>{},
             boost::test_tools::per_element());
  WritProcess writ({"--database-url", app, "--migrate-url", owner});
  ApiClient client(writ.port());
  BOOST_TEST(client.get("/readyz").body == "{\"ready\":true,\"headPosition\":\"3\"}\n");
  const auto replayed = client.call("CreateSettings", first_create(), kKey);
  BOOST_TEST(replayed.version() == 1);
  BOOST_TEST(client.call("UpdateSettings", update(1)).code() == "failed_precondition");
  BOOST_TEST(client.call("UpdateSettings", update(2)).version() == 3);
  BOOST_TEST(query_one(owner, "SELECT max(position) FROM writ.events") == "4");
  BOOST_TEST(broken_invariants(owner) == std::vector<std::string>{},
             boost::test_tools::per_element());

  const std::string kRefused = "55000";
  const std::string kNotAllowed = "42501";
  for (const char* change :
       {"DELETE FROM writ.events", "TRUNCATE writ.events", "UPDATE writ.events SET actor = 'x'",
        "UPDATE writ.events SET payload = NULL", "DELETE FROM writ.commands",
        "UPDATE writ.commands SET first_position = 1"}) {
    BOOST_TEST_CONTEXT(change) {
      const std::string by_owner = refusal(owner, change);
      // Without its salt, an erasure is half an erasure.
      BOOST_TEST((by_owner == kRefused || by_owner == "23514"), by_owner);
      BOOST_TEST(refusal(app, change) == kNotAllowed);
    }
  }
  // Replication's way around triggers is closed too.
  BOOST_TEST(refusal(owner, "SET session_replication_role = replica; DELETE FROM writ.events") ==
             kRefused);
  BOOST_TEST(query_one(owner, "SELECT count(*) FROM writ.events") == "4");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_dump)

BOOST_AUTO_TEST_CASE(restored_into_a_fresh_server_serves_on) {
  const TestDatabase database;
  const TemporaryDirectory directory;
  {
    WritProcess writ(database);
    ApiClient client(writ.port());
    fill(client);
    dump(database.conninfo(), directory.path() / "dump");  // while the service runs
  }
  LocalPostgres fresh;
  query(fresh.conninfo(), "CREATE DATABASE restored");
  // The server does not have our roles; the first start makes them and gives them what is theirs.
  restore(fresh.conninfo("restored"), directory.path() / "dump", {"--no-owner", "--no-acl"});
  check_serves_on(fresh.conninfo("restored"), fresh.conninfo("restored", "writ_app"));
}

BOOST_AUTO_TEST_CASE(restored_beside_the_original_keeps_owners_and_rights) {
  const TestDatabase database;
  const TemporaryDirectory directory;
  {
    WritProcess writ(database);
    ApiClient client(writ.port());
    fill(client);
  }
  dump(database.conninfo(), directory.path() / "dump");
  const auto beside = TestDatabase::empty();
  restore(beside.conninfo(), directory.path() / "dump", {});
  BOOST_TEST(query_one(beside.conninfo(),
                       "SELECT count(*) FROM pg_tables WHERE schemaname ="
                       " 'writ' AND tableowner <> 'writ_owner'") == "0");
  check_serves_on(beside.conninfo(), beside.conninfo({{"user", "writ_app"}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
