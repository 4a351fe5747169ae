#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/random_settings.h"
#include "tests/acceptance/settings_model.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

const std::string kApply = "/writ.apply.v1.ApplyService/ApplyRun";
const std::string kAudit = "/writ.audit.v1.AuditService/";

/// Tasks that leave room for every rule.
const char kTasks[] = R"([
  {"container": {"image": "a"}},
  {"container": {"resources": {"requests": [{"name": "CPU", "value": "1.50"},
                                            {"name": "GPU", "value": "9"}],
                               "limits": [{"name": "MEMORY", "value": "900Gi"}]}}},
  {"k8sPod": {"podSpec": {"containers": [
    {"name": "main", "resources": {"requests": {"cpu": 64, "memory": "4Ti"},
                                   "limits": {"nvidia.com/gpu": 7}}}]}}}
])";

struct Service {
  const TestDatabase database;
  WritProcess writ{database};
  ApiClient client{writ.port()};

  Json ask(const std::string& path, const Json& request) {
    HttpAnswer answer = client.send("POST", path, "application/json", request.dump());
    BOOST_REQUIRE_MESSAGE(answer.status == 200, path << " " << request << ": " << answer.body);
    return answer.json();
  }
  Json apply(const Json& key, const Json& run = Json::object(),
             const Json& tasks = Json::parse(kTasks)) {
    return ask(kApply, Json::object({{"key", key}, {"runSpec", run}, {"tasks", tasks}}));
  }
  /// The same run at an earlier position.
  Json apply_at(const Json& key, long position) {
    return ask(kApply,
               Json::object({{"key", key},
                             {"runSpec", Json::object()},
                             {"tasks", Json::parse(kTasks)},
                             {"at", Json::object({{"position", std::to_string(position)}})}}));
  }
  void write(const Json& key, const Json& settings, long version = 0) {
    Json request = Json::object({{"key", key}, {"settings", settings}});
    if (version > 0) request["version"] = std::to_string(version);
    const HttpAnswer answer =
        client.call(version > 0 ? "UpdateSettings" : "CreateSettings", request);
    BOOST_REQUIRE_MESSAGE(answer.status == 200, answer.body);
  }
};

const std::vector<Json>& elements(const Json& answer, const char* name) {
  static const std::vector<Json> none;
  const Json* list = answer.find(name);
  return list == nullptr ? none : list->elements();
}

std::string text(const Json& object, const char* name) {
  const Json* value = object.find(name);
  return value == nullptr ? "" : value->text();
}

/// What a change or a bound says of the setting behind it must be what blame says.
void check_source(const Json& source, const Json& blame) {
  const std::string setting = text(source, "setting");
  if (setting.empty()) return;
  const auto& leaves = elements(blame, "leaves");
  const auto leaf = std::ranges::find_if(
      leaves, [&](const Json& one) { return one.at("path").text() == setting; });
  BOOST_TEST_REQUIRE((leaf != leaves.end()), setting << " is not in effect");
  const Json& origin = leaf->at("origin");
  BOOST_TEST(text(source, "position") == text(origin, "position"), setting);
  BOOST_TEST(text(source, "scopeLevel") == text(origin, "scopeLevel"), setting);
}

/// Some record's next version, as a random history has it.
void write_one(Service& service, RandomSettings& random, SettingsModel& model) {
  const Json key = random.key();
  const long version = model.version(storage_key(key));
  Json request = Json::object({{"key", key}, {"settings", random.settings()}});
  if (version > 0) request["version"] = std::to_string(version);
  const HttpAnswer answer =
      service.client.call(version > 0 ? "UpdateSettings" : "CreateSettings", request);
  BOOST_REQUIRE_MESSAGE(answer.status == 200, answer.body);
  version > 0 ? model.update(request) : model.create(request);
}

struct Refusal {
  const char* name;
  std::string request, field, message;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(applying, Service)

BOOST_AUTO_TEST_CASE(a_run_gets_what_was_set_and_each_change_leads_to_its_event) {
  write(key_json(""), Json::parse(R"({"run": {"defaultQueue": {"state": "SETTING_STATE_VALUE",
      "stringValue": "slow"}}, "environmentVariables": {"state": "SETTING_STATE_VALUE",
      "mapValue": {"entries": {"LOG": "info", "REGION": "eu"}}}})"));
  write(key_json("prod"),
        Json::parse(R"({"taskResource": {"max": {"cpu": {"state": "SETTING_STATE_VALUE",
      "quantityValue": "4"}}}, "environmentVariables": {"state": "SETTING_STATE_VALUE",
      "mapValue": {"entries": {"LOG": "warn"}}}})"));
  write(key_json("prod"), queue_settings("fast"), 1);
  write(key_json("prod"),
        Json::parse(R"({"taskResource": {"max": {"cpu": {"state": "SETTING_STATE_VALUE",
      "quantityValue": "2"}}}, "environmentVariables": {"state": "SETTING_STATE_VALUE",
      "mapValue": {"entries": {"LOG": "warn"}}}})"),
        2);
  const Json answer =
      apply(key_json("prod", "p"), Json::parse(R"({"labels": {"values": {"own": "1"}}})"),
            Json::parse(R"([{"container": {"resources": {"requests": [
                         {"name": "CPU", "value": "8"}]}}}])"));
  BOOST_TEST(answer == Json::parse(R"({"runSpec": {
      "labels": {"values": {"own": "1"}}, "queue": "slow",
      "envs": {"values": [{"key": "LOG", "value": "warn"}, {"key": "REGION", "value": "eu"}]},
      "defaultSettings": {"taskResourceDefaults": {"max": [{"name": "CPU", "value": "2"}]}}},
    "tasks": [{"container": {"resources": {"requests": [{"name": "CPU", "value": "2"}]}}}],
    "position": "4",
    "changes": [
      {"path": "run_spec.queue", "after": "slow", "action": "ACTION_FILLED",
       "setting": "run.default_queue", "position": "1"},
      {"path": "run_spec.envs[\"LOG\"]", "after": "warn", "action": "ACTION_FILLED",
       "setting": "environment_variables[\"LOG\"]", "scopeLevel": "SCOPE_LEVEL_DOMAIN",
       "position": "4"},
      {"path": "run_spec.envs[\"REGION\"]", "after": "eu", "action": "ACTION_FILLED",
       "setting": "environment_variables[\"REGION\"]", "position": "1"},
      {"path": "run_spec.default_settings.task_resource_defaults.max[\"CPU\"]", "after": "2",
       "action": "ACTION_FILLED", "setting": "task_resource.max.cpu",
       "scopeLevel": "SCOPE_LEVEL_DOMAIN", "position": "4"},
      {"path": "tasks[0].container.resources.requests[\"CPU\"]", "before": "8", "after": "2",
       "action": "ACTION_CAPPED", "setting": "task_resource.max.cpu",
       "scopeLevel": "SCOPE_LEVEL_DOMAIN", "position": "4"}]})"));
}

BOOST_AUTO_TEST_CASE(a_random_history_is_explained_as_blame_does_and_answers_the_same_for_ever) {
  const std::uint64_t seed = seed_from_environment().value_or(std::random_device()());
  BOOST_TEST_MESSAGE("WRIT_SEED=" << seed);
  RandomSettings random(seed);
  SettingsModel model;
  struct Asked {
    Json key, answer;
  };
  std::vector<Asked> asked;
  std::size_t changes = 0;
  for (int i = 0; i < 60; ++i) {
    write_one(*this, random, model);
    const Json key = random.key();
    asked.push_back({key, apply(key)});
    const Json& answer = asked.back().answer;
    BOOST_TEST(answer.at("position").text() == std::to_string(i + 1));
    const Json blame = ask(kAudit + "Blame", Json::object({{"key", key}}));
    for (const Json& change : elements(answer, "changes")) {
      check_source(change, blame);
      if (const Json* bound = change.find("boundedBy")) check_source(*bound, blame);
      ++changes;
    }
  }
  BOOST_TEST(changes > 300U);
  for (std::size_t i = 0; i < asked.size(); ++i)
    BOOST_TEST(apply_at(asked[i].key, static_cast<long>(i) + 1).dump() == asked[i].answer.dump());
  // Before the first change there was nothing to apply.
  BOOST_TEST(elements(apply_at(key_json("d"), 0), "changes").empty() ==
             elements(apply_at(key_json("nobody"), 0), "changes").empty());
}

BOOST_AUTO_TEST_CASE(an_answer_is_of_its_position_also_while_others_write) {
  write(key_json(""), queue_settings("q0"));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    ApiClient own(writ.port());
    for (long version = 1; !stop; ++version)
      own.call("UpdateSettings",
               update_json(key_json(""), queue_settings("q" + std::to_string(version)), version));
  });
  std::vector<Json> answers;
  for (int i = 0; i < 100; ++i) answers.push_back(apply(key_json("d", "p")));
  stop = true;
  writer.join();
  for (const Json& answer : answers) {
    const long position = std::stol(answer.at("position").text());
    // The instance has the only record, so version and position are one.
    BOOST_TEST(answer.at("runSpec").at("queue").text() == "q" + std::to_string(position - 1));
    BOOST_TEST(apply_at(key_json("d", "p"), position).dump() == answer.dump());
  }
  BOOST_TEST(answers.back().at("position").text() != answers.front().at("position").text());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_applied_is_refused_with_the_field) {
  std::string many = "{}";
  for (int i = 1; i < 1000; ++i) many += ",{}";
  const std::string k = R"({"key":{"domain":"d"},)";
  const Refusal refusals[] = {
      {"no key", R"({"tasks":[]})", "key", "key is required"},
      {"a key that is no scope", R"({"key":{"project":"p"}})", "key.domain",
       "a project-scope key requires a domain"},
      {"1,000 tasks", k + "\"tasks\":[" + many + "]}", "tasks",
       "invalid tasks: there are 1000, at most 500 are allowed"},
      {"a task with nothing", k + R"("tasks":[{"container":{}},{}]})", "tasks[1]",
       "invalid tasks[1]: must have a container or a k8s_pod"},
      {"no quantity",
       k + R"("tasks":[{"container":{"resources":{"limits":[{"name":"CPU","value":"1x"}]}}}]})",
       "tasks[0].container.resources.limits[\"CPU\"]",
       "invalid tasks[0].container.resources.limits[\"CPU\"]: \"1x\": quantities must match the "
       "regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {"a name twice",
       k + R"("tasks":[{"container":{"resources":{"requests":[{"name":"CPU","value":"1"},
              {"name":"CPU","value":"1"}]}}}]})",
       "tasks[0].container.resources.requests[\"CPU\"]",
       "invalid tasks[0].container.resources.requests[\"CPU\"]: named twice"},
      {"a primary container that is not there",
       k + R"("tasks":[{"k8sPod":{"primaryContainerName":"x",
              "podSpec":{"containers":[{"name":"a"}]}}}]})",
       "tasks[0].k8s_pod.primary_container_name",
       "invalid tasks[0].k8s_pod.primary_container_name: there is no container \"x\" in the pod "
       "spec"},
  };
  for (const Refusal& refusal : refusals) {
    BOOST_TEST_CONTEXT(refusal.name) {
      const HttpAnswer answer = client.send("POST", kApply, "application/json", refusal.request);
      BOOST_TEST(answer.code() == "invalid_argument", answer.body);
      BOOST_TEST(answer.message() == refusal.message);
      const Json violations =
          answer.json().at("details").elements().at(0).at("debug").at("fieldViolations");
      BOOST_TEST(text(violations.elements().at(0), "field") == refusal.field);
    }
  }
  const HttpAnswer future =
      client.send("POST", kApply, "application/json", k + R"("at":{"position":"9"}})");
  BOOST_TEST(future.code() == "out_of_range");
  BOOST_TEST(future.message() ==
             "invalid at.position: position 9 is in the future; the log is at position 0");
}

BOOST_AUTO_TEST_CASE(every_fault_of_a_request_is_told_at_once) {
  const HttpAnswer answer = client.send(
      "POST", kApply, "application/json",
      R"({"key":{},"tasks":[{},{"container":{"resources":{"requests":[{"value":"x"}]}}}]})");
  const Json violations =
      answer.json().at("details").elements().at(0).at("debug").at("fieldViolations");
  BOOST_TEST(violations.elements().size() == 2U);
}

BOOST_AUTO_TEST_CASE(what_json_loses_is_told) {
  const Json answer =
      apply(key_json("d"), Json::object(),
            Json::parse(R"([{"interface": {}, "container": {"image": "a", "dataConfig": {}}}])"));
  BOOST_TEST_REQUIRE(elements(answer, "warnings").size() == 1U);
  BOOST_TEST(elements(answer, "warnings")[0].text() ==
             "fields that this server does not know were left out: tasks[0].interface, "
             "tasks[0].container.dataConfig; they are kept when the request is binary");
  BOOST_TEST(answer.at("tasks") == Json::parse(R"([{"container": {"image": "a"}}])"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
