#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <future>

#include "events/connection.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/local_postgres.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

using Arguments = std::vector<std::string>;

Arguments joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Arguments serve(const Arguments& more) {
  return joined({"serve", "--listen", "127.0.0.1:0", "--startup-timeout", "2"}, more);
}

std::string last_line(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// Runs what must not start: ends with `status`, and the last line on standard error, which is one
/// for people, has `words` in it.
void refuses(const Arguments& arguments, int status, const std::string& words,
             std::map<std::string, std::string> environment = {}) {
  const WritRun run = run_writ(arguments, std::move(environment));
  BOOST_TEST(run.status == status);
  BOOST_TEST(run.err.ends_with('\n'));
  const std::string line = last_line(run.err);
  BOOST_TEST(line.starts_with("writ: "));
  BOOST_TEST(line.find(words) != std::string::npos, "no \"" << words << "\" in: " << run.err);
  BOOST_TEST(run.err.find("serving") == std::string::npos);
  BOOST_TEST(run.out == "");
}

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(wrong_options)

BOOST_AUTO_TEST_CASE(are_refused_with_one_line_and_exit_code_2) {
  const std::pair<Arguments, const char*> cases[] = {
      {{}, "a command is required"},
      {{"sevre"}, "sevre"},
      {{"serve", "--lisen", "127.0.0.1:0"}, "--lisen"},
      {{"serve", "--listen"}, "--listen"},
      {{"serve", "--listen", "127.0.0.1"}, "127.0.0.1"},
      {{"serve", "--listen", "127.0.0.1:70000"}, "70000"},
      {{"serve", "--startup-timeout", "0"}, "--startup-timeout"},
      {{"serve", "--startup-timeout", "soon"}, "--startup-timeout"},
      {{"serve", "--batch-limit", "0"}, "--batch-limit"},
      {{"serve", "--log-level", "loud"}, "--log-level"},
      {{"serve", "--migrate-url", "host=/nowhere"}, "--database-url"},
      {{"serve", "127.0.0.1:0"}, "127.0.0.1:0"},
      {{"rebuild", "everything"}, "everything"},
  };
  for (const auto& [arguments, words] : cases) {
    BOOST_TEST_CONTEXT(words) {
      refuses(arguments, 2, words);
      BOOST_TEST(lines(run_writ(arguments).err) == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(of_the_environment_are_refused_too) {
  refuses({"serve"}, 2, "sometimes", {{"WRIT_STARTUP_TIMEOUT", "sometimes"}});
}

// Everybody who can connect would be an administrator.
BOOST_AUTO_TEST_CASE(include_listening_for_other_machines_without_saying_so) {
  const TemporaryDirectory directory;
  const std::string data = directory.path() / "data";
  for (const char* address : {"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:8080"})
    refuses({"serve", "--data-dir", data, "--listen", address}, 2, "--allow-anonymous");
  BOOST_TEST(!std::filesystem::exists(data));

  const TestDatabase database;
  WritProcess allowed(joined(on(database), {"--listen", "0.0.0.0:0", "--allow-anonymous"}));
  BOOST_TEST(ApiClient(allowed.port()).get("/healthz").status == 200);
}

BOOST_AUTO_TEST_CASE(that_are_right_may_come_from_the_environment) {
  const TestDatabase database;
  const Arguments flags = on(database);
  WritProcess writ({}, {{"WRIT_DATABASE_URL", flags[1]},
                        {"WRIT_MIGRATE_URL", flags[3]},
                        {"WRIT_READ_CONNECTIONS", "1"},
                        {"WRIT_BATCH_LIMIT", "1"},
                        {"WRIT_LISTEN", "127.0.0.1:1"}});  // the flag wins
  ApiClient client(writ.port());
  const Json create = create_json(key_json("a"), queue_settings("q"));
  BOOST_TEST(client.call("CreateSettings", create).version() == 1);
  BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") == "1");
}

BOOST_AUTO_TEST_CASE(help_and_version_are_answers_and_no_errors) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, Arguments{"--version"}, Arguments{"serve", "--help"}}) {
    const WritRun run = run_writ(arguments);
    BOOST_TEST(run.status == 0);
    BOOST_TEST(run.out.find("writ") != std::string::npos, run.out);
    BOOST_TEST(run.err == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_database_that_cannot_be_used)

BOOST_AUTO_TEST_CASE(because_its_url_is_malformed) {
  for (const char* url : {"postgres//nowhere", "host='open", "postgresql://[::1/x",
                          "postgresql://localhost/x?no_such_option=1"})
    BOOST_TEST_CONTEXT(url)
  refuses(serve({"--database-url", url}), 1, "the database URL is malformed");
}

// Everybody who reads the log would know them.
BOOST_AUTO_TEST_CASE(is_told_of_without_passwords) {
  for (const char* url : {"postgresql://jo:sesame@/x?host=/nowhere",
                          "postgresql://jo:sesame@[::1/x", "postgresql//jo:sesame@localhost/x",
                          "host=/nowhere password='sesame", "host=/nowhere password=open sesame"}) {
    BOOST_TEST_CONTEXT(url) {
      const WritRun run = run_writ(serve({"--database-url", url}));
      BOOST_TEST(run.status == 1);
      BOOST_TEST(run.err.find("sesame") == std::string::npos, run.err);
    }
  }
}

BOOST_AUTO_TEST_CASE(that_is_down_is_waited_for_and_then_given_up) {
  const TemporaryDirectory nobody;
  const std::string url = "host=" + nobody.path().string() + " user=postgres dbname=postgres";
  const auto begin = std::chrono::steady_clock::now();
  const WritRun run = run_writ(serve({"--database-url", url, "--migrate-url", url}));
  const auto took = std::chrono::steady_clock::now() - begin;
  BOOST_TEST(run.status == 1);
  BOOST_TEST(run.err.find("writ: waiting for the database: ") == 0u, run.err);
  BOOST_TEST(last_line(run.err).starts_with("writ: cannot reach the database within 2 s: "),
             run.err);
  // One line when the wait begins, not one a try.
  BOOST_TEST(lines(run.err) == 2, run.err);
  BOOST_TEST((took >= std::chrono::seconds(2)));
}

BOOST_AUTO_TEST_CASE(that_is_not_utf8) {
  const auto database = TestDatabase::empty("TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
  refuses(serve(on(database)), 1, "it must be UTF8");
  BOOST_TEST(query_one(database.conninfo(), "SELECT to_regnamespace('writ') IS NULL") == "t");
}

BOOST_AUTO_TEST_CASE(whose_schema_asks_for_a_newer_program) {
  const TestDatabase database;
  {
    WritProcess writ(database);
    ApiClient(writ.port()).call("CreateSettings", create_json(key_json("a"), queue_settings("q")));
    BOOST_TEST(writ.stop() == 0);
  }
  query(database.conninfo(), "UPDATE writ.schema_info SET min_program = min_program + 1000");
  refuses(serve(on(database)), 1, "asks for a newer program");
  BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") == "1");
  query(database.conninfo(), "UPDATE writ.schema_info SET min_program = min_program - 1000");
  WritProcess writ(database);
  const auto kept =
      ApiClient(writ.port()).call("GetSettings", Json::object({{"key", key_json("a")}}));
  BOOST_TEST(kept.status == 200);
}

BOOST_AUTO_TEST_CASE(where_the_role_may_not_make_tables) {
  const auto database = TestDatabase::empty();
  // Roles belong to the server: another test's migrations have made writ_app.
  const TestDatabase migrated;
  const std::string app = database.conninfo({{"user", "writ_app"}});
  refuses(serve({"--database-url", app}), 1, "--migrate-url");
}

BOOST_AUTO_TEST_CASE(with_a_role_that_does_not_exist) {
  const TestDatabase database;
  refuses(serve({"--database-url", database.conninfo({{"user", "nobody_at_all"}}), "--migrate-url",
                 database.conninfo()}),
          1, "nobody_at_all");
}

// Other processes wait for it: the first start makes the tables once.
BOOST_AUTO_TEST_CASE(may_be_empty_and_is_then_set_up_by_whoever_comes_first) {
  const auto database = TestDatabase::empty();
  const Arguments arguments = on(database);
  WritProcess one(arguments, {}, WritProcess::kDoNotWait);
  WritProcess two(arguments, {}, WritProcess::kDoNotWait);
  one.await_serving();
  two.await_serving();
  const auto created =
      ApiClient(one.port()).call("CreateSettings", create_json(key_json("a"), queue_settings("q")));
  BOOST_TEST(created.version() == 1);
  BOOST_TEST(ApiClient(two.port()).get("/readyz").status == 200);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_place_that_is_taken)

BOOST_AUTO_TEST_CASE(port_in_use) {
  const TestDatabase database;
  WritProcess first(database);
  const std::string address = "127.0.0.1:" + std::to_string(first.port());
  refuses(joined({"serve", "--listen", address}, on(database)), 1, address);
  BOOST_TEST(ApiClient(first.port()).get("/healthz").status == 200);
}

BOOST_AUTO_TEST_CASE(port_in_use_is_noticed_before_a_cluster_is_made) {
  const TestDatabase database;
  WritProcess first(database);
  const TemporaryDirectory directory;
  const std::string data = directory.path() / "data";
  const std::string address = "127.0.0.1:" + std::to_string(first.port());
  const WritRun run = run_writ({"serve", "--listen", address, "--data-dir", data});
  BOOST_TEST(run.status == 1);
  BOOST_TEST(run.err == "writ: cannot listen on " + address + ": Address already in use\n");
  BOOST_TEST(!std::filesystem::exists(data));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(being_told_to_stop)

BOOST_AUTO_TEST_CASE(ends_an_idle_service_at_once) {
  const TestDatabase database;
  const std::pair<int, std::string> signals[] = {
      {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}};
  for (const auto& [number, name] : signals) {
    WritProcess writ(database);
    ApiClient idle(writ.port());
    BOOST_TEST(idle.get("/healthz").status == 200);
    const auto begin = std::chrono::steady_clock::now();
    writ.signal(number);
    BOOST_TEST(writ.wait(std::chrono::seconds(15)) == 0);
    const auto took = std::chrono::steady_clock::now() - begin;
    BOOST_TEST((took < std::chrono::seconds(5)),
               std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms");
    // The last requests may be logged in between.
    BOOST_TEST(writ.log().find("writ: stopping after " + name + "\n") != std::string::npos,
               writ.log());
    BOOST_TEST(writ.log().ends_with("writ: stopped\n"), writ.log());
  }
}

BOOST_AUTO_TEST_CASE(lets_requests_in_flight_finish) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  Connection holder(database.conninfo());  // without the session's time-outs
  holder.exec("BEGIN; SELECT FROM writ.log_head FOR UPDATE");
  auto write = std::async(std::launch::async, [&] {
    return client.call("CreateSettings", create_json(key_json("a"), queue_settings("q")));
  });
  const auto waits = [&] {
    return query_one(database.conninfo(),
                     "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                     " AND wait_event_type = 'Lock'") == "1";
  };
  BOOST_TEST(wait_until(waits));
  writ.signal(SIGTERM);
  BOOST_TEST(writ.await_log("stopping after SIGTERM"));
  writ.signal(SIGINT);  // an impatient operator changes nothing
  BOOST_TEST(writ.running());
  // Nobody else is let in.
  BOOST_TEST(wait_until([&] { return ApiClient(writ.port()).get("/healthz").status == 0; }));
  holder.exec("COMMIT");
  BOOST_TEST(write.get().version() == 1);
  BOOST_TEST(writ.wait(std::chrono::seconds(10)) == 0);
  BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") == "1");
}

BOOST_AUTO_TEST_CASE(ends_one_that_waits_for_its_database) {
  const TemporaryDirectory nobody;
  const std::string url = "host=" + nobody.path().string() + " user=postgres dbname=postgres";
  WritProcess writ({"--database-url", url}, {}, WritProcess::kDoNotWait);
  BOOST_TEST(writ.await_log("waiting for the database"));
  BOOST_TEST(writ.stop() == 1);
  BOOST_TEST(last_line(writ.log()) == "writ: interrupted while waiting for the database");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
