#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <regex>
#include <utility>

#include "tests/acceptance/child.h"
#include "tests/support/wait.h"
#include "tests/tools/client_fixture.h"
#include "tests/tools/middle_man.h"

namespace writ::test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Runs of blanks as one, and times as T, so that tables can be compared.
std::string squeezed(std::string text) {
  text = std::regex_replace(
      text, std::regex("\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ \\((now|\\d+ (s|min) ago)\\)"),
      "T");
  return std::regex_replace(text, std::regex(" {2,}"), "  ");
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_command_line, ClientFixture)

BOOST_AUTO_TEST_CASE(sets_values_of_every_type_and_shows_where_they_come_from) {
  BOOST_TEST(ok({"set", "run.default_queue=default", "run.max_action_concurrency=7",
                 "app.disallow_anonymous=yes", "task_resource.max.gpu=4",
                 "task_resource.default_accelerator=nvidia-h100", "labels.team=ml",
                 "labels.example.com/tier=1", "annotations={a: b, c: '2'}"}) ==
             R"(+ run.default_queue: default
+ run.max_action_concurrency: 7
+ task_resource.max.gpu: 4
+ task_resource.default_accelerator: nvidia-h100
+ labels["example.com/tier"]: 1
+ labels["team"]: ml
+ annotations["a"]: b
+ annotations["c"]: 2
+ app.disallow_anonymous: true
instance: version 1
)");
  ok({"set", "-d", "production", "task_resource.max.gpu=8", "labels[\"team\"]=blue"});
  ok({"unset", "-d", "production", "-p", "analytics", "app.disallow_anonymous"});
  BOOST_TEST(squeezed(ok({"get", "-d", "production", "-p", "analytics"})) ==
             R"(SETTING  VALUE  FROM
run.default_queue  default  instance
run.max_action_concurrency  7  instance
task_resource.max.gpu  8  production
task_resource.default_accelerator  nvidia-h100  instance
labels["example.com/tier"]  1  instance
labels["team"]  blue  production
annotations["a"]  b  instance
annotations["c"]  2  instance
app.disallow_anonymous  ~unset  production/analytics
)");
  ok({"set", "-d", "other", "run.run_base_dir="});
  BOOST_TEST(has(squeezed(ok({"get", "-d", "other"})), "run.run_base_dir  \"\"  other\n"));
  BOOST_TEST(ok({"get", "-d", "x", "-o", "json"}) ==
             client.call("GetSettings", Json::object({{"key", key_json("x")}})).body + "\n");
  BOOST_TEST(has(ok({"get", "-o", "yaml"}), R"(settingsRecord:
  key: {}
  settings:
    run:
      defaultQueue:
        state: SETTING_STATE_VALUE
        stringValue: default
      maxActionConcurrency:
        state: SETTING_STATE_VALUE
        intValue: "7"
)"));
}

BOOST_AUTO_TEST_CASE(lets_go_of_settings_and_of_entries) {
  ok({"set", "run.default_queue=a", "labels.team=ml", "labels.tier=1"});
  BOOST_TEST(ok({"inherit", "run.default_queue", "labels.team"}) ==
             "- run.default_queue: a\n- labels[\"team\"]: ml\ninstance: version 2\n");
  ok({"inherit", "labels.tier"});
  BOOST_TEST(effective() == "{}");
  ok({"unset", "labels"});
  BOOST_TEST(effective() == R"({"labels":{"state":"SETTING_STATE_UNSET"}})");
}

BOOST_AUTO_TEST_CASE(writes_no_event_where_nothing_changes) {
  ok({"set", "run.default_queue=a"});
  for (const Arguments& arguments : {Arguments{"set", "run.default_queue=a"},
                                     Arguments{"inherit", "pod_template_name", "labels.team"},
                                     Arguments{"inherit", "-d", "new", "labels"}}) {
    const WritRun done = run(arguments);
    BOOST_TEST(done.status == 0);
    BOOST_TEST(has(done.err, "nothing to change"), done.err);
  }
  BOOST_TEST(head() == 1);
}

BOOST_AUTO_TEST_CASE(tells_the_history_to_an_auditor) {
  ok({"set", "task_resource.max.gpu=4", "-m", "begin"});
  ok({"set", "-d", "production", "task_resource.max.gpu=8", "-m", "größere Modelle"});
  ok({"set", "-d", "production", "labels.team=ml"});
  ok({"set", "-d", "production", "task_resource.max.gpu=16"});
  BOOST_TEST(squeezed(ok({"log", "-d", "production"})) ==
             R"(POSITION  TIME  ACTOR  SCOPE  VERSION  CHANGE
4  T  anonymous  production  3  ~ task_resource.max.gpu: 8 -> 16
3  T  anonymous  production  2  + labels["team"]: ml
2  T  anonymous  production  1  + task_resource.max.gpu: 8
  "größere Modelle"
)");
  BOOST_TEST(squeezed(ok({"blame", "-d", "production", "-p", "x", "task_resource"})) ==
             R"(SETTING  VALUE  SET AT  POSITION  BY  TIME  REASON
task_resource.max.gpu  16  production  4  anonymous  T
  hides  4  instance  1  anonymous  T  "begin"
)");
  BOOST_TEST(ok({"diff", "-d", "production", "v1"}) == R"(production, position 2 to 4
~ task_resource.max.gpu: 8 -> 16
+ labels["team"]: ml
)");
  BOOST_TEST(ok({"diff", "-d", "other", "1", "4"}) == "other, position 1 to 4\nno difference\n");
  BOOST_TEST(has(ok({"show", "2"}), "reason      größere Modelle\n"));
  BOOST_TEST(has(squeezed(ok({"get", "-d", "production", "--at", "v1"})),
                 "task_resource.max.gpu  8  production\n"));
  BOOST_TEST(ok({"revert", "-d", "production", "--to-version", "1", "-m", "too many"}) ==
             R"(~ task_resource.max.gpu: 16 -> 8
- labels["team"]: ml
production: version 4 says what version 1 said; position 5
)");
  BOOST_TEST(has(ok({"log", "--limit", "1"}), "reverted_to: 1\n"));
  BOOST_TEST(has(ok({"log", "--limit", "1"}), "\"too many\"\n"));
}

BOOST_AUTO_TEST_CASE(filters_the_history_and_pages_through_it) {
  for (int i = 0; i < 12; ++i) {
    Json request = create_json(key_json("d"), queue_settings("q" + std::to_string(i)));
    if (i > 0) request["version"] = std::to_string(i);
    client.call(i > 0 ? "UpdateSettings" : "CreateSettings", request);
  }
  ok({"set", "-d", "d", "-p", "p", "labels.team=ml"});
  ok({"set", "labels.team=ml"});
  const struct {
    const char* name;
    Arguments filter;
    int changes;
  } rows[] = {
      {"all", {"--limit", "0"}, 14},
      {"some", {"--limit", "3"}, 3},
      {"a domain", {"-d", "d"}, 12},
      {"a domain and below", {"-d", "d", "--below"}, 13},
      {"the instance", {"--instance"}, 1},
      {"a project", {"-d", "d", "-p", "p"}, 1},
      {"a setting", {"--path", "run.default_queue"}, 12},
      {"a group", {"--path", "run"}, 12},
      {"an entry", {"--path", "labels.team"}, 2},
      {"an actor", {"--actor", "anonymous"}, 14},
      {"another actor", {"--actor", "nobody"}, 0},
      {"since", {"--since", "1h"}, 14},
      {"until", {"--until", "2026-01-01"}, 0},
  };
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.name) {
      Arguments arguments = {"log", "-o", "json"};
      arguments.insert(arguments.end(), row.filter.begin(), row.filter.end());
      const std::string out = ok(arguments);
      BOOST_TEST(std::ranges::count(out, '\n') == row.changes);
    }
  BOOST_TEST(ok({"log", "--actor", "nobody"}) == "no changes\n");
  BOOST_TEST(
      has(ok({"log", "-o", "json", "--oldest-first", "--limit", "1"}), "{\"position\":\"1\""));
  BOOST_TEST(has(ok({"log", "-o", "yaml", "--limit", "2"}), "\n---\nposition: \"13\"\n"));
}

struct BadInput {
  const char* name;
  Arguments arguments;
  int status;
  const char* says;
};

BOOST_AUTO_TEST_CASE(answers_bad_input_with_what_is_wrong_and_an_exit_code) {
  ok({"set", "-d", "d", "labels.team=ml"});
  const BadInput rows[] = {
      {"no value", {"set", "run.default_queue"}, 2, "says no value: give PATH=VALUE"},
      {"no change", {"set"}, 2, "changes is required"},
      {"unknown path", {"set", "run.default_que=a"}, 2, "did you mean run.default_queue?"},
      {"a group", {"inherit", "run"}, 2, "is a group of settings; name one of run.default_queue"},
      {"no number", {"set", "run.max_action_concurrency=x"}, 2, "no whole number"},
      {"no bool", {"set", "app.disallow_anonymous=2"}, 2, "neither true nor false"},
      {"no map", {"set", "labels=a"}, 2, "entries are needed"},
      {"unset by value", {"set", "run.default_queue=~unset"}, 2, "use `writ unset`"},
      {"twice", {"set", "labels.a=1", "labels[\"a\"]=2"}, 2, "labels[\"a\"] is there twice"},
      {"unset of an entry", {"unset", "labels.team"}, 2, "an entry of a map cannot be unset"},
      {"a project without a domain", {"get", "-p", "p"}, 2, "--domain"},
      {"no output", {"get", "-o", "xml"}, 2, "--output: \"xml\" is not table, json or yaml"},
      {"an output by its number", {"get", "-o", "2"}, 2, "--output: \"2\" is not table, json"},
      {"no point", {"get", "--at", "yesterday"}, 2, "\"yesterday\" is no point in the history"},
      {"no time", {"log", "--since", "13"}, 2, "\"13\" is no time"},
      {"no position", {"show", "-1x"}, 2, "-1"},
      {"no filter path", {"log", "--path", "task_resource.maxx"}, 2, "task_resource.max"},
      {"no such map", {"set", "labls.x=1"}, 2, "did you mean labels.x?"},
      {"no such group",
       {"log", "--path", "task_resource.mx"},
       2,
       "did you mean \"task_resource.max\"?"},
      {"no such entry", {"log", "--path", "labls.x"}, 2, "did you mean labels.x?"},
      {"no url", {"get", "--url", "localhost:8080"}, 2, "must begin with http://"},
      {"secrets in the url", {"get", "--url", "http://u:p@h"}, 2, "WRIT_TOKEN"},
      {"a reason of lines", {"set", "labels.a=1", "-m", "a\nb"}, 2, "must be one line"},
      {"no version", {"revert", "-m", "x"}, 2, "--to-version is required"},
      {"version 0",
       {"revert", "--to-version", "0"},
       2,
       "--to-version: \"0\" is no whole number from 1 on;"},
      {"a version that is no number", {"revert", "--to-version", "v1"}, 2, "\"v1\" is no whole"},
      {"a limit below none", {"log", "--limit", "-1"}, 2, "--limit: \"-1\" is no whole number"},
      {"a proof of nothing", {"proof", "0"}, 2, "position: \"0\" is no whole number from 1 on"},
      {"below nothing", {"log", "--below"}, 2, "--domain"},
      {"no file", {"edit", "--from-file", "/nowhere"}, 2, "cannot read /nowhere"},
      {"a folder", {"edit", "--from-file", "/tmp"}, 2, "cannot read /tmp"},
      {"a bad value",
       {"set", "run.max_action_concurrency=1", "task_resource.min.cpu=apple"},
       3,
       "writ: invalid task_resource.min.cpu \"apple\""},
      {"a bad key", {"set", "-d", "a:b", "labels.a=1"}, 3, "invalid domain \"a:b\""},
      {"the future", {"get", "--at", "99"}, 3, "is in the future"},
      {"no event", {"show", "99"}, 3, "is in the future"},
      {"no such version", {"revert", "-d", "d", "--to-version", "9"}, 5, "not found"},
      {"no record", {"revert", "--to-version", "1"}, 5, "no record"},
      {"no such version to compare", {"diff", "-d", "d", "v7"}, 5, "it has versions 1 to 1"},
      {"nobody there",
       {"get", "--url", "http://127.0.0.1:1"},
       7,
       "no server answers at http://127.0.0.1:1; start one with `writ serve`"},
      {"nobody to watch", {"watch", "--url", "http://127.0.0.1:1"}, 7, "no server answers at"},
      {"since the future", {"log", "--since", "9999-01-01"}, 3, "is in the future"},
      {"watch the future", {"watch", "--after", "99"}, 3, "is in the future"},
  };
  for (const BadInput& row : rows) BOOST_TEST_CONTEXT(row.name) {
      const WritRun done = run(row.arguments);
      BOOST_TEST(done.status == row.status, done.err);
      BOOST_TEST(has(done.err, row.says), done.err);
      BOOST_TEST(done.err.starts_with("writ: "), done.err);
      BOOST_TEST(done.out == "");
    }
  BOOST_TEST(head() == 1);
}

BOOST_AUTO_TEST_CASE(says_what_the_server_says_and_gives_it_what_it_needs) {
  MiddleMan::Answer answer;
  MiddleMan::Request seen;
  const MiddleMan middle(writ.port(), [&](const MiddleMan::Request& request) {
    seen = request;
    return answer;
  });
  url = middle.url();
  const struct {
    const char* code;
    int status, exit_code;
  } rows[] = {{"unauthenticated", 401, 6}, {"permission_denied", 403, 6},
              {"unavailable", 503, 7},     {"resource_exhausted", 429, 7},
              {"internal", 500, 1},        {"aborted", 409, 4}};
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.code) {
      answer = {row.status,
                "application/json",
                std::string(R"({"code":")") + row.code + R"(","message":"so \u001b[31mit is"})",
                {}};
      const WritRun done = run({"get"});
      BOOST_TEST(done.status == row.exit_code);
      BOOST_TEST(has(done.err, R"(writ: so \x1b[31mit is)"), done.err);
    }
  answer = {404, "text/html", "<p>nothing", {}};
  BOOST_TEST(run({"get"}).status == 7);
  BOOST_TEST(has(run({"get"}).err, "is no Writ: HTTP status 404"));
  answer = {200, "text/html", "<p>welcome", {}};
  BOOST_TEST(run({"get"}).status == 7);
  answer = {200, "", "", {{"Warning", "299 - \"unknown field a.b\""}}};
  const WritRun warned =
      run({"set", "labels.a=1", "-m", "why – so"}, {{"WRIT_TOKEN", "writ_secret"}});
  BOOST_TEST(warned.status == 0, warned.err);
  BOOST_TEST(has(warned.err, "writ: warning of the server: \"unknown field a.b\""), warned.err);
  BOOST_TEST(seen.header("Authorization") == "Bearer writ_secret");
  BOOST_TEST(seen.header("Writ-Reason") == "why – so");
  BOOST_TEST(seen.header("Idempotency-Key").size() == 32u);
  BOOST_TEST(run({"get"}, {{"WRIT_TOKEN", "a b"}}).status == 2);
}

BOOST_AUTO_TEST_CASE(asks_again_for_an_answer_that_was_lost_and_changes_once) {
  int to_lose = 0;
  std::vector<std::string> keys;
  const MiddleMan middle(writ.port(), [&](const MiddleMan::Request& request) {
    MiddleMan::Answer answer;
    answer.lost = has(request.path, "CreateSettings") && to_lose-- > 0;
    if (has(request.path, "CreateSettings")) keys.push_back(request.header("Idempotency-Key"));
    return answer;
  });
  url = middle.url();
  to_lose = 2;
  const WritRun done = run({"set", "run.default_queue=a"});
  BOOST_TEST(done.status == 0, done.err);
  BOOST_TEST(has(done.out, "instance: version 1\n"));
  BOOST_TEST(keys.size() == 3u);
  BOOST_TEST(keys == std::vector<std::string>(3, keys[0]), boost::test_tools::per_element());
  BOOST_TEST(head() == 1);
  to_lose = 100;
  const WritRun lost = run({"set", "-d", "d", "run.default_queue=a"});
  BOOST_TEST(lost.status == 7);
  BOOST_TEST(has(lost.err, "a change may have been made: see `writ log`"), lost.err);
}

BOOST_AUTO_TEST_CASE(tries_again_after_a_conflict_unless_the_same_was_changed) {
  ok({"set", "run.default_queue=a", "labels.team=ml"});
  Arguments meanwhile;
  const std::string direct = url;
  const MiddleMan middle(writ.port(), [&](const MiddleMan::Request& request) {
    if (has(request.path, "UpdateSettings") || has(request.path, "CreateSettings") ||
        has(request.path, "/Revert"))
      if (const Arguments first = std::exchange(meanwhile, {}); !first.empty())
        BOOST_TEST(run(first, {{"WRIT_URL", direct}}).status == 0);
    return MiddleMan::Answer();
  });
  url = middle.url();
  const struct {
    const char* name;
    Arguments meanwhile, ours;
    int status;
  } rows[] = {
      {"another setting", {"set", "run.run_base_dir=x"}, {"set", "run.default_queue=b"}, 0},
      {"another entry", {"set", "labels.tier=1"}, {"set", "labels.team=blue"}, 0},
      {"a first record",
       {"set", "-d", "d", "run.run_base_dir=x"},
       {"set", "-d", "d", "labels.a=1"},
       0},
      {"the same setting", {"set", "run.default_queue=c"}, {"set", "run.default_queue=d"}, 4},
      {"the same entry", {"set", "labels.team=red"}, {"inherit", "labels.team"}, 4},
      {"the whole map", {"unset", "labels"}, {"set", "labels.team=green"}, 4},
      {"anything, for a revert", {"set", "labels.x=y"}, {"revert", "--to-version", "1"}, 4},
      {"an entry of the map", {"set", "annotations.a=b"}, {"unset", "annotations"}, 4},
  };
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.name) {
      meanwhile = row.meanwhile;
      const WritRun done = run(row.ours);
      BOOST_TEST(done.status == row.status, done.err);
      BOOST_TEST(meanwhile.empty());
      if (row.status == 0) continue;
      BOOST_TEST(
          std::regex_search(
              done.err, std::regex("nothing was written: \\S+ was changed by anonymous at "
                                   "[^(]*\\((now|[^)]* ago)\\), position \\d+, now version \\d+")),
          done.err);
    }
  BOOST_TEST(has(effective(), R"("stringValue":"c")"));
  BOOST_TEST(has(effective("d"), R"("a":"1")"));
}

BOOST_AUTO_TEST_CASE(watches_until_told_to_stop_and_resumes_where_it_was) {
  ok({"set", "run.default_queue=a"});
  Child watch({{writ_program(), "watch", "-o", "json"}, {{"WRIT_URL", url}}, {"WRIT_"}});
  BOOST_REQUIRE(
      wait_until([&] { return has(watch.standard_error(), "watching after position 1\n"); }));
  const auto told = [&](const char* position) {
    return wait_until([&] { return has(watch.standard_output(), position); });
  };
  ok({"set", "run.default_queue=b"});
  BOOST_REQUIRE(told("{\"position\":\"2\""));
  const std::uint16_t port = writ.port();
  writ.kill_hard();
  BOOST_REQUIRE(
      wait_until([&] { return has(watch.standard_error(), "resuming after position 2"); }));
  std::vector<std::string> arguments = on(database);
  arguments.insert(arguments.end(), {"--listen", "127.0.0.1:" + std::to_string(port)});
  WritProcess again(arguments);
  ok({"set", "run.default_queue=c"});
  BOOST_REQUIRE(told("{\"position\":\"3\""));
  ok({"set", "-d", "d", "run.default_queue=d"});
  BOOST_REQUIRE(told("{\"position\":\"4\""));
  BOOST_TEST(std::ranges::count(watch.standard_output(), '\n') == 3);
  watch.signal(SIGINT);
  BOOST_TEST(watch.wait(std::chrono::seconds(10)).value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(watches_from_the_start_what_is_wanted_as_a_table) {
  ok({"set", "run.default_queue=a"});
  ok({"set", "-d", "d", "labels.team=ml"});
  Child watch({{writ_program(), "watch", "--after", "0", "--path", "labels"},
               {{"WRIT_URL", url}},
               {"WRIT_"}});
  BOOST_REQUIRE(wait_until([&] { return has(watch.standard_output(), "labels[\"team\"]: ml\n"); }));
  BOOST_TEST(squeezed(watch.standard_output()) == R"(POSITION  TIME  ACTOR  SCOPE  VERSION  CHANGE
2  T  anonymous  d  1  + labels["team"]: ml
)");
  watch.signal(SIGTERM);
  BOOST_TEST(watch.wait(std::chrono::seconds(10)).value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(colours_only_for_a_terminal_that_wants_it) {
  ok({"set", "run.default_queue=a"});
  const auto on_terminal = [&](Environment environment) {
    environment["WRIT_URL"] = url;
    Child script({{"/usr/bin/script", "-qec", writ_program() + " log", "/dev/null"},
                  environment,
                  {"WRIT_", "NO_COLOR"}});
    BOOST_TEST(script.wait(std::chrono::seconds(30)).value_or(-1) == 0);
    return script.standard_output();
  };
  BOOST_TEST(has(on_terminal({{"TERM", "xterm"}}), "\033[32m+ run.default_queue: a\033[0m"));
  BOOST_TEST(!has(on_terminal({{"TERM", "xterm"}, {"NO_COLOR", "1"}}), "\033"));
  BOOST_TEST(!has(on_terminal({{"TERM", "dumb"}}), "\033"));
  BOOST_TEST(!has(ok({"log"}), "\033"));
}

BOOST_AUTO_TEST_CASE(fails_when_what_it_prints_cannot_be_written) {
  Child child({{"/bin/sh", "-c", "exec \"$0\" log > /dev/full", writ_program()},
               {{"WRIT_URL", url}},
               {"WRIT_"}});
  BOOST_TEST(child.wait(std::chrono::seconds(30)).value_or(-1) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
