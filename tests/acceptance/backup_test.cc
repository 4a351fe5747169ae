#include <boost/test/unit_test.hpp>

#include "events/envelope.h"
#include "events/errors.h"
#include "events/merkle.h"
#include "events/signing_keys.h"
#include "schema/base64.h"
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

/// Each event is proved to be in the tree, by what the service says of each.
void check_proofs(ApiClient& client, int events) {
  const auto ask = [&](const std::string& method, int position) {
    return client
        .send("POST", "/writ.audit.v1.AuditService/" + method, "application/json",
              "{\"position\":" + std::to_string(position) + "}")
        .json();
  };
  const auto digest = [](const Json& base64) { return to_digest(*decode_base64(base64.text())); };
  for (int position = 1; position <= events; ++position) {
    const Json proof = ask("GetInclusionProof", position);
    Proof path;
    for (const Json& hash : proof.at("hashes").elements()) path.push_back(digest(hash));
    BOOST_TEST(verify_inclusion(position - 1, events,
                                leaf_hash(ask("GetEvent", position).at("envelope").text()), path,
                                digest(proof.at("root"))));
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
  check_proofs(client, 4);
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

BOOST_AUTO_TEST_CASE(older_than_the_last_checkpoint_is_refused_with_the_way_on) {
  const auto database = TestDatabase::empty();
  const TemporaryDirectory directory;
  make_signing_key(directory.path() / "key");
  const auto options_for = [&](const TestDatabase& served) {
    std::vector<std::string> options = on(served);
    options.insert(options.end(), {"--signing-key", directory.path() / "key", "--data-dir",
                                   directory.path() / "data"});
    return options;
  };
  {
    WritProcess writ(options_for(database));
    ApiClient client(writ.port());
    fill(client);
    dump(database.conninfo(), directory.path() / "dump");
    BOOST_REQUIRE(client.call("UpdateSettings", update(2)).version() == 3);
    BOOST_TEST(writ.stop() == 0);
  }
  const auto restored = TestDatabase::empty();
  restore(restored.conninfo(), directory.path() / "dump", {});
  std::vector<std::string> arguments = options_for(restored);
  arguments.insert(arguments.begin(), {"serve", "--listen", "127.0.0.1:0"});
  const WritRun refused = run_writ(arguments);
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err.find("ends at position 3, behind the checkpoint that was signed at"
                              " position 4") != std::string::npos,
             refused.err);
  BOOST_TEST(refused.err.find("writ accept-log") != std::string::npos, refused.err);
  arguments.erase(arguments.begin(), arguments.begin() + 3);
  arguments.insert(arguments.begin(), {"accept-log", "--reason", "the disk is gone"});
  const WritRun accepted = run_writ(arguments);
  BOOST_TEST(accepted.status == 0, accepted.err);
  WritProcess writ(options_for(restored));
  ApiClient client(writ.port());
  BOOST_TEST(client.call("UpdateSettings", update(2)).version() == 3);
  check_proofs(client, 5);
}

BOOST_AUTO_TEST_CASE(of_a_program_before_the_tree_gets_its_tree_and_serves_on) {
  // 310 events of 5 records, written by the last program that knew no tree.
  const auto database = TestDatabase::empty();
  restore(database.conninfo(), WRIT_SOURCE_DIR "/tests/acceptance/dumps/before_tree.dump",
          {"--no-owner", "--no-acl"});
  WritProcess writ(database);
  ApiClient client(writ.port());
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
  BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.tiles") == "1");
  check_proofs(client, 310);
  const auto replayed =
      client.call("CreateSettings", create_json(key_json("d0"), queue_settings("q0")),
                  {{"Idempotency-Key", "k0"}});
  BOOST_TEST(replayed.version() == 1);
  BOOST_TEST(client.call("UpdateSettings", update_json(key_json("d0"), queue_settings("new"), 62))
                 .version() == 63);
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
