// What an operator does with a log that is served: rebuild, verify, export, erase.

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <future>
#include <sstream>

#include "events/signing_keys.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/local_postgres.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/private_data.h"
#include "tests/acceptance/watching.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

/// A served log with a signing key.
struct Served {
  Served() : writ(options()), client(writ.port()) {
    for (const char* domain : {"a", "b", "c"})
      client.call("CreateSettings", create_json(key_json(domain), queue_settings("one")));
    client.call("UpdateSettings", update_json(key_json("b"), queue_settings("two"), 1));
    client.call("UpdateSettings", update_json(key_json("b"), queue_settings("three"), 2));
  }

  std::vector<std::string> options() {
    make_signing_key(directory.path() / "key");
    auto all = on(database);
    for (const std::string& one :
         {std::string("--signing-key"), (directory.path() / "key").string(),
          std::string("--data-dir"), (directory.path() / "data").string(),
          std::string("--check-pause"), std::string("1")})
      all.push_back(one);
    return all;
  }

  /// Runs a command against this server.
  WritRun run(std::vector<std::string> arguments) const {
    return run_writ(std::move(arguments), {{"WRIT_URL", url()}});
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(writ.port()); }

  std::string file(const std::string& name, const std::string& content) const {
    const auto path = directory.path() / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  std::string exported() const {
    const WritRun run = this->run({"export"});
    BOOST_TEST(run.status == 0, run.err);
    return run.out;
  }
  std::string note() const { return run({"checkpoint"}).out; }
  std::string key() const {
    std::string text = run({"checkpoint", "--key"}).out;
    return text.substr(0, text.find('\n'));
  }

  TestDatabase database;
  TemporaryDirectory directory;
  WritProcess writ;
  ApiClient client;
};

std::string last_line(const std::string& text) {
  if (text.empty()) return "";
  const std::size_t begin = text.rfind('\n', text.size() - 2);
  return text.substr(begin == std::string::npos ? 0 : begin + 1);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

HttpAnswer audit(ApiClient& client, const std::string& method, const std::string& body) {
  return client.send("POST", "/writ.audit.v1.AuditService/" + method, "application/json", body);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(an_operator)

BOOST_FIXTURE_TEST_CASE(rebuilds_at_the_server, Served) {
  query(database.conninfo(), "UPDATE writ.settings SET data = '{}' WHERE key = 'v1::b:'");
  query(database.conninfo(), "DELETE FROM writ.settings WHERE key = 'v1::a:'");
  const WritRun settings = run({"rebuild", "settings"});
  BOOST_TEST(settings.status == 0, settings.err);
  BOOST_TEST(settings.out == "rebuilt settings: 3 rows from 5 events\n");
  const WritRun paths = run({"rebuild", "changed_paths"});
  BOOST_TEST(paths.status == 0, paths.err);
  BOOST_TEST(has(paths.out, "rows from 5 events"));
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
  BOOST_TEST(
      client.call("UpdateSettings", update_json(key_json("b"), queue_settings("x"), 3)).version() ==
      4);
  BOOST_TEST(audit(client, "Blame", R"({"key":{"domain":"b"}})").status == 200);
}

BOOST_FIXTURE_TEST_CASE(verifies_at_the_server_and_on_the_database, Served) {
  const WritRun good = run({"verify"});
  BOOST_TEST(good.status == 0, good.err);
  BOOST_TEST(last_line(good.out).starts_with("verified: events 1 to 5, 3 rows, root "));
  const std::string checkpoint = file("note", note());
  BOOST_TEST(run({"verify", "--checkpoint", checkpoint, "--from", "5"})
                 .out.starts_with("verified: nothing came since position 5, 3 rows"));
  BOOST_TEST(run({"verify", "--checkpoint", checkpoint, "--from", "4"}).status == 2);
  auto here = on(database);
  here.insert(here.begin(), "verify");
  BOOST_TEST(run_writ(here).out == good.out);
  query(database.conninfo(), "UPDATE writ.settings SET version = 9 WHERE key = 'v1::b:'");
  for (const WritRun& bad : {run({"verify"}), run_writ(here)}) {
    BOOST_TEST(bad.status == 8);
    BOOST_TEST(bad.out == "wrong: settings row v1::b:: version\n");
  }
}

BOOST_FIXTURE_TEST_CASE(verifies_the_index_of_changed_settings, Served) {
  BOOST_TEST(audit(client, "Blame", R"({"key":{"domain":"b"}})").status == 200);  // indexed
  auto here = on(database);
  here.insert(here.begin(), {"verify", "changed_paths"});
  const WritRun good = run({"verify", "changed_paths"});
  BOOST_TEST(good.status == 0, good.err);
  BOOST_TEST(good.out == "verified: changed_paths, 5 rows from 5 events\n");
  BOOST_TEST(run_writ(here).out == good.out);
  query(database.conninfo(), "DELETE FROM writ.changed_paths WHERE position = 4");
  for (const WritRun& bad : {run({"verify", "changed_paths"}), run_writ(here)}) {
    BOOST_TEST(bad.status == 8);
    BOOST_TEST(bad.out ==
               "wrong: changed_paths row run.default_queue at position 4: the row is missing\n");
  }
  BOOST_TEST(run({"verify"}).status == 0);
  BOOST_TEST(run({"rebuild", "changed_paths"}).status == 0);
  BOOST_TEST(run({"verify", "changed_paths"}).status == 0);
  BOOST_TEST(run({"verify", "settings"}).status == 2);
  BOOST_TEST(run({"verify", "changed_paths", "--checkpoint", file("note", note())}).status == 2);
}

BOOST_FIXTURE_TEST_CASE(is_told_by_the_continuous_check, Served) {
  query(database.conninfo(), "UPDATE writ.settings SET version = 9 WHERE key = 'v1::b:'");
  BOOST_TEST(writ.await_log("settings of v1::b:: version"));
  const HttpAnswer ready = client.get("/readyz");
  BOOST_TEST(ready.status == 200);
  BOOST_TEST(has(ready.body, R"("difference":"settings of v1::b:: version")"));
  const std::string metrics = client.get("/metrics").body;
  BOOST_TEST(has(metrics, "writ_check_differences 1"), metrics);
  BOOST_TEST(run({"rebuild", "settings"}).status == 0);
  BOOST_TEST(wait_until([&] { return !has(client.get("/readyz").body, "difference"); }));
}

BOOST_FIXTURE_TEST_CASE(exports_and_anybody_verifies_that, Served) {
  const std::string old_note = file("old", note());
  client.call("UpdateSettings", update_json(key_json("a"), queue_settings("two"), 1));
  const std::string good = file("good.jsonl", exported());
  const std::string now = file("now", note());
  const WritRun verified = run_writ(
      {"verify-export", good, "--key", key(), "--checkpoint", now, "--old-checkpoint", old_note});
  BOOST_TEST(verified.status == 0, verified.err + verified.out);
  BOOST_TEST(verified.out.starts_with("verified: 6 events, 3 rows, root "));
  const auto wrong = [&](const std::string& log, const std::string& verifier,
                         const std::string& note, const std::string& part) {
    const WritRun run = run_writ({"verify-export", log, "--key", verifier, "--checkpoint", note});
    BOOST_TEST(run.status == 8);
    BOOST_TEST(has(run.out, part), run.out + run.err);
    BOOST_TEST(run.out.starts_with("wrong: "));
  };
  std::string other_key = key();
  make_signing_key(directory.path() / "other");
  other_key = SigningKeys(directory.path() / "other")
                  .verifier_keys(key().substr(0, key().find('+')))
                  .at(0)
                  .text();
  wrong(good, other_key, now, "the checkpoint");
  std::string swapped = note();
  const std::size_t root = swapped.find('\n', swapped.find('\n') + 1) + 1;
  swapped[root] = swapped[root] == 'A' ? 'B' : 'A';
  wrong(good, key(), file("swapped", swapped), "the checkpoint");
  wrong(good, key(), old_note, "nothing vouches for the rest");
  std::string short_by_one = exported();
  const std::size_t last_event = short_by_one.find("{\"settings\"");
  const std::size_t begin = short_by_one.rfind('\n', last_event - 2) + 1;
  short_by_one.erase(begin, last_event - begin);
  wrong(file("short", short_by_one), key(), now, "those after position 5 are missing");
  BOOST_TEST(run_writ({"verify-export", good, "--key", "nonsense", "--checkpoint", now}).status ==
             2);
}

BOOST_FIXTURE_TEST_CASE(exports_a_log_that_grows_with_a_checkpoint_of_its_moment, Served) {
  std::atomic<bool> stop = false;
  auto writer = std::async(std::launch::async, [&] {
    ApiClient mine(writ.port());
    for (long version = 1; !stop; ++version)
      mine.call("UpdateSettings", update_json(key_json("a"), queue_settings("q"), version));
  });
  const std::string checkpoint = (directory.path() / "moment").string();
  for (int i = 0; i < 5; ++i) {
    const WritRun exported = run({"export", "--checkpoint", checkpoint});
    BOOST_TEST(exported.status == 0, exported.err);
    static_cast<void>(note());  // a later one was signed meanwhile
    const WritRun verified = run_writ({"verify-export", file("moment.jsonl", exported.out), "--key",
                                       key(), "--checkpoint", checkpoint});
    BOOST_TEST(verified.status == 0, verified.out + verified.err);
  }
  stop = true;
  writer.get();
  const WritProcess without(database);
  const std::string other = "http://127.0.0.1:" + std::to_string(without.port());
  const WritRun refused = run_writ({"export", "--url", other, "--checkpoint", checkpoint});
  BOOST_TEST(refused.status == 3);
  BOOST_TEST(has(refused.err, "--signing-key"), refused.err);
}

BOOST_FIXTURE_TEST_CASE(erases_what_one_event_said_and_every_proof_holds_on, Served) {
  const std::string before = file("before", note());
  const WritRun erased = run({"erase", "--position", "2", "-m", "a secret"});
  BOOST_TEST(erased.status == 0, erased.err);
  BOOST_TEST(erased.out == "erased: position 2, recorded at position 6\n");
  BOOST_TEST(query_one(database.conninfo(),
                       "SELECT count(*) FROM writ.events WHERE payload IS NULL") == "1");
  const auto lost = [&](const std::string& method, const std::string& body) {
    const HttpAnswer answer = audit(client, method, body);
    BOOST_TEST(answer.status == 400);
    BOOST_TEST(answer.code() == "failed_precondition");
    BOOST_TEST(answer.message() ==
               "the content at position 2, version 1 of domain b, was erased on purpose by "
               "anonymous (position 6); ask for its next version, from position 4 on, or a later "
               "one");
  };
  lost("GetSettingsAt", R"({"key":{"domain":"b"},"at":{"position":"3"}})");
  lost("Diff", R"({"key":{"domain":"b"},"from":{"version":"1"},"to":{"version":"2"}})");
  lost("Revert", R"({"key":{"domain":"b"},"toVersion":"1","version":"3","reason":"r"})");
  BOOST_TEST(has(audit(client, "ListChanges", R"({"filter":{"key":{"domain":"b"}}})").body,
                 R"("erased":true)"));
  BOOST_TEST(run({"verify"}).status == 0);
  BOOST_TEST(run({"rebuild", "settings"}).status == 0);
  BOOST_TEST(run({"rebuild", "changed_paths"}).status == 0);
  BOOST_TEST(run({"verify"}).status == 0);
  const WritRun verified =
      run_writ({"verify-export", file("log", exported()), "--key", key(), "--checkpoint",
                file("now", note()), "--old-checkpoint", before});
  BOOST_TEST(verified.out.starts_with("verified: 6 events, 3 rows"));
  // What is refused.
  const auto refused = [&](const std::string& position, int status, const std::string& part) {
    const WritRun run = this->run({"erase", "--position", position, "-m", "r"});
    BOOST_TEST(run.status == status);
    BOOST_TEST(has(run.err, part), run.err);
  };
  refused("2", 3, "erased at position 2 already");
  refused("1", 3, "change the record first");
  refused("5", 3, "change the record first");
  refused("6", 3, "about the log itself");
  refused("77", 5, "no event at position 77");
  refused("0", 2, "no whole number from 1 on");
  const HttpAnswer unexplained = client.send("POST", "/writ.admin.v1.AdminService/Erase",
                                             "application/json", R"({"position":"3"})");
  BOOST_TEST(unexplained.code() == "invalid_argument");
  BOOST_TEST(query_one(database.conninfo(), "SELECT position FROM writ.log_head") == "6");
}

BOOST_FIXTURE_TEST_CASE(tells_of_an_erased_change_whoever_asks_who_changed_a_setting, Served) {
  client.call("CreateSettings", create_json(key_json(""), queue_settings("one")));
  client.call("UpdateSettings", update_json(key_json(""), queue_settings("two"), 1));
  Watch live(writ.port(), 0, Json::object({{"path", "run.default_queue"}}));
  BOOST_TEST(live.until([](const Watched& told) { return told.positions.size() == 7; }));
  for (const char* position : {"2", "6"})
    BOOST_TEST(run({"erase", "--position", position, "-m", "a secret"}).status == 0);
  // The change after an erased one is as unknown as that.
  struct Asked {
    const char* name;
    std::string filter;
    std::vector<long> positions, erased;
  };
  const Asked all[] = {
      {"a setting", R"({"path":"run.default_queue"})", {1, 2, 3, 4, 5, 6, 7}, {2, 4, 6, 7}},
      {"a group", R"({"path":"run"})", {1, 2, 3, 4, 5, 6, 7}, {2, 4, 6, 7}},
      {"of a record", R"({"path":"run","key":{"domain":"b"}})", {2, 4, 5}, {2, 4}},
      {"of the instance", R"({"path":"run","key":{}})", {6, 7}, {6, 7}},
      {"what they did not change", R"({"path":"labels"})", {}, {}},
  };
  for (const bool rebuilt : {false, true}) {
    if (rebuilt) BOOST_TEST(run({"rebuild", "changed_paths"}).status == 0);
    for (const Asked& asked : all) BOOST_TEST_CONTEXT(asked.name << (rebuilt ? ", rebuilt" : "")) {
        const Json answer =
            audit(client, "ListChanges", R"({"oldestFirst":true,"filter":)" + asked.filter + "}")
                .json();
        std::vector<long> positions, erased;
        if (const Json* const changes = answer.find("changes"))
          for (const Json& change : changes->elements()) {
            positions.push_back(std::stol(change.at("position").text()));
            if (change.find("erased") != nullptr) erased.push_back(positions.back());
          }
        BOOST_TEST(positions == asked.positions, boost::test_tools::per_element());
        BOOST_TEST(erased == asked.erased, boost::test_tools::per_element());
        Watch watch(writ.port(), 0, Json::parse(asked.filter));
        BOOST_TEST(watch.until([&](const Watched& told) {
          return told.begun && told.positions.size() >= asked.positions.size();
        }));
        BOOST_TEST(watch.stop().positions == asked.positions, boost::test_tools::per_element());
      }
  }
  BOOST_TEST(has(run({"log", "--path", "run.default_queue", "-d", "b"}).out, "content was erased"));
}

BOOST_FIXTURE_TEST_CASE(compares_what_a_record_said_whatever_was_erased_above_it, Served) {
  client.call("CreateSettings", create_json(key_json(""), queue_settings("one")));
  client.call("UpdateSettings", update_json(key_json("b"), queue_settings("four"), 3));
  client.call("UpdateSettings", update_json(key_json(""), queue_settings("two"), 1));
  BOOST_TEST(run({"erase", "--position", "6", "-m", "a secret"}).status == 0);
  const std::string points =
      R"({"key":{"domain":"b"},"from":{"version":"3"},"to":{"position":"7"})";
  const HttpAnswer stored = audit(client, "Diff", points + "}");
  BOOST_TEST(stored.status == 200, stored.body);
  BOOST_TEST(has(stored.body, "four"), stored.body);
  const HttpAnswer effective = audit(client, "Diff", points + R"(,"effective":true})");
  BOOST_TEST(effective.code() == "failed_precondition");
  BOOST_TEST(has(effective.message(), "position 6, version 1 of the instance, was erased"),
             effective.message());
  // What is missing and no event says so is no erasure.
  query(database.conninfo(),
        "ALTER TABLE writ.events DISABLE TRIGGER ALL;"
        "UPDATE writ.events SET payload = NULL, payload_salt = NULL WHERE position = 2");
  const HttpAnswer missing =
      audit(client, "GetSettingsAt", R"({"key":{"domain":"b"},"at":{"position":"2"}})");
  BOOST_TEST(missing.code() == "data_loss", missing.body);
}

BOOST_AUTO_TEST_CASE(is_told_to_ask_the_service_that_has_the_data_directory) {
  const PrivateData data;
  WritProcess writ({"--data-dir", data.path()});
  ApiClient client(writ.port());
  client.call("CreateSettings", create_json(key_json("a"), queue_settings("one")));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"verify"}, {"rebuild", "settings"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--data-dir", data.path()});
    const WritRun refused = run_writ(arguments);
    BOOST_TEST(refused.status == 1);
    BOOST_TEST(has(refused.err, "in use"), refused.err);
    BOOST_TEST(has(refused.err, "--url"), refused.err);
  }
  const std::string url = "http://127.0.0.1:" + std::to_string(writ.port());
  BOOST_TEST(run_writ({"verify", "--url", url}).status == 0);
  BOOST_TEST(run_writ({"rebuild", "settings", "--url", url}).status == 0);
  BOOST_TEST(writ.stop() == 0);
  const WritRun here = run_writ({"rebuild", "settings", "--data-dir", data.path()});
  BOOST_TEST(here.status == 0, here.err);
  BOOST_TEST(here.out == "rebuilt settings: 1 rows from 1 events\n");
  BOOST_TEST(run_writ({"verify", "--data-dir", data.path()}).status == 0);
}

BOOST_FIXTURE_TEST_CASE(may_rebuild_while_two_services_write_and_are_read, Served) {
  WritProcess second(database);
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, done = 0;
  std::vector<std::future<void>> load;
  for (const std::uint16_t port : {writ.port(), second.port()})
    load.push_back(std::async(std::launch::async, [&, port] {
      ApiClient mine(port);
      const Json key = key_json("w" + std::to_string(port));
      long version = mine.call("CreateSettings", create_json(key, queue_settings("q0"))).version();
      while (!stop) {
        const std::string queue = "q" + std::to_string(version);
        const HttpAnswer answer =
            mine.call("UpdateSettings", update_json(key, queue_settings(queue), version));
        if (answer.version() != version + 1) ++wrong;
        version = answer.version();
        const HttpAnswer read = mine.call("GetSettings", Json::object({{"key", key}}));
        if (read.status != 200 || !has(read.body, "\"" + queue + "\"")) ++wrong;
        ++done;
      }
    }));
  for (int i = 0; i < 6; ++i)
    for (const char* projection : {"settings", "changed_paths"}) {
      const WritRun rebuilt = run({"rebuild", projection});
      BOOST_TEST(rebuilt.status == 0, rebuilt.err);
    }
  stop = true;
  for (auto& one : load) one.get();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(done > 20);
  BOOST_TEST(run({"verify"}).status == 0);
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
