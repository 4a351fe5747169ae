#include <boost/test/unit_test.hpp>

#include "tests/schema/apply_cases.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;

/// One rule and what the caller said: what a value of the setting makes of it. `task` is "" when
/// there is none.
struct Rule {
  const char* setting;
  const char* value;
  const char* caller_says;
  std::string run, task;              // as sent
  std::string run_after, task_after;  // with a value; "" is: as sent
};

std::string defaults(const std::string& what) {
  return R"({"defaultSettings":{"taskResourceDefaults":{)" + what + "}}}";
}

/// What the pair min and max leaves in the run for tasks that come later.
std::string default_entry(const std::string& list, const std::string& name,
                          const std::string& value) {
  return defaults("\"" + list + R"(":[{"name":")" + name + R"(","value":")" + value + "\"}]");
}

std::vector<Rule> run_rules() {
  std::vector<Rule> rules;
  const auto text = [&](const char* setting, const char* value, const std::string& before,
                        const std::string& after) {
    // `before`…`after` enclose the value.
    rules.push_back({setting, value, "nothing", "{}", "", before + value + after, ""});
    rules.push_back({setting, value, "something", before + "own" + after, "", "", ""});
    rules.push_back(
        {setting, value, "the empty text", before + after, "", before + value + after, ""});
  };
  text("run.default_queue", "fast", R"({"queue":")", R"("})");
  text("run.run_base_dir", "s3://runs", R"({"runBaseDir":")", R"("})");
  text("storage.raw_data_path", "s3://raw", R"({"rawDataStorage":{"rawDataPrefix":")", R"("}})");
  text("security.service_account", "runner",
       R"({"securityContext":{"runAs":{"k8sServiceAccount":")", R"("}}})");
  text("pod_template_name", "large", R"({"defaultSettings":{"podTemplateName":")", R"("}})");
  const std::string raw = R"({"rawDataStorage":{"rawDataPrefix":"s3://raw"}})";
  rules.push_back({"storage.raw_data_path", "s3://raw", "an empty message",
                   R"({"rawDataStorage":{}})", "", raw, ""});
  for (const char* empty : {R"({"securityContext":{}})", R"({"securityContext":{"runAs":{}}})"})
    rules.push_back({"security.service_account", "runner", "an empty message", empty, "",
                     R"({"securityContext":{"runAs":{"k8sServiceAccount":"runner"}}})", ""});
  rules.push_back(
      {"security.service_account", "runner", "something beside",
       R"({"securityContext":{"runAs":{"iamRole":"own"}}})", "",
       R"({"securityContext":{"runAs":{"iamRole":"own","k8sServiceAccount":"runner"}}})", ""});
  rules.push_back({"run.max_action_concurrency", "10", "nothing", "{}", "",
                   R"({"maxActionConcurrency":10})", ""});
  rules.push_back({"run.max_action_concurrency", "10", "0", R"({"maxActionConcurrency":0})", "",
                   R"({"maxActionConcurrency":10})", ""});
  rules.push_back({"run.max_action_concurrency", "10", "something",
                   R"({"maxActionConcurrency":99})", "", "", ""});
  rules.push_back({"run.max_action_concurrency", "0", "nothing, of a setting that is unlimited",
                   "{}", "", "", ""});
  for (const std::string map : {"labels", "annotations"}) {
    const char* setting = map == "labels" ? "labels" : "annotations";
    const auto with = [&](const std::string& entries) {
      return "{\"" + map + R"(":{"values":{)" + entries + "}}}";
    };
    const std::string both = with(R"("a":"1","b":"2")");
    rules.push_back({setting, "a=1,b=2", "nothing", "{}", "", both, ""});
    rules.push_back({setting, "a=1,b=2", "an empty message", "{\"" + map + "\":{}}", "", both, ""});
    rules.push_back({setting, "a=1,b=2", "one key", with(R"("b":"own")"), "",
                     with(R"("a":"1","b":"own")"), ""});
    rules.push_back({setting, "a=1,b=2", "every key, one of them empty",
                     with(R"("a":"","b":"own","c":"3")"), "", "", ""});
  }
  return rules;
}

std::vector<Rule> variable_rules() {
  const auto with = [](const std::string& variables) {
    return R"({"envs":{"values":[)" + variables + "]}}";
  };
  const std::string a = R"({"key":"A","value":"1"})", b = R"({"key":"B","value":"2"})";
  const std::string own = R"({"key":"B","value":"own"})", twice = R"({"key":"B","value":"too"})";
  const char* setting = "environment_variables";
  const char* value = "B=2,A=1";
  return {{setting, value, "nothing", "{}", "", with(a + "," + b), ""},
          {setting, value, "an empty message", R"({"envs":{}})", "", with(a + "," + b), ""},
          {setting, value, "one key", with(own), "", with(own + "," + a), ""},
          {setting, value, "one key twice", with(own + "," + twice), "",
           with(own + "," + twice + "," + a), ""},
          {setting, value, "one key with the empty value", with(R"({"key":"B"})"), "",
           with(R"({"key":"B"},)" + a), ""},
          {setting, value, "every key", with(own + R"(,{"key":"A","value":"own"})"), "", "", ""}};
}

/// Each dimension of min and max in a container and in a pod.
std::vector<Rule> resource_rules_of(const std::string& name, const std::string& pod_name,
                                    const char* min, const char* max) {
  const auto in_container = [&](const std::string& request, const std::string& limit) {
    return container_task(request.empty() ? "" : name + "=" + request,
                          limit.empty() ? "" : name + "=" + limit);
  };
  const auto in_pod = [&](const std::string& request, const std::string& limit) {
    const auto entry = [&](const std::string& value) {
      return value.empty() ? "" : pod_name + "=\"" + value + "\"";
    };
    return pod_task(entry(request), entry(limit));
  };
  const std::string requests = default_entry("requests", name, "2");
  const std::string maxima = default_entry("max", name, "2");
  const bool gpu = name == "GPU";
  std::vector<Rule> rules;
  const auto add = [&](const auto& task) {
    rules.push_back({min, "2", "nothing", "{}", task("", ""), requests, gpu ? "" : task("2", "")});
    rules.push_back({min, "2", "less", "{}", task("1", ""), requests, ""});
    rules.push_back({min, "2", "more", "{}", task("3", ""), requests, ""});
    rules.push_back({min, "2", "a limit above", "{}", task("", "4"), requests, task("2", "4")});
    rules.push_back({min, "2", "a limit below", "{}", task("", "1"), requests, task("1", "1")});
    rules.push_back({min, "2", "zero", "{}", task("0", ""), requests, ""});
    rules.push_back({max, "2", "nothing", "{}", task("", ""), maxima, ""});
    rules.push_back({max, "2", "less", "{}", task("1", "1"), maxima, ""});
    rules.push_back({max, "2", "just as much", "{}", task("2000m", "2.0"), maxima, ""});
    rules.push_back({max, "2", "a request above", "{}", task("3", ""), maxima, task("2", "")});
    rules.push_back({max, "2", "a limit above", "{}", task("", "3"), maxima, task("", "2")});
    rules.push_back({max, "2", "both above", "{}", task("3", "4"), maxima, task("2", "2")});
    rules.push_back(
        {max, "2", "a limit above, a request below", "{}", task("1", "4"), maxima, task("1", "2")});
    const char* mirror = "task_resource.mirror_limits_request";
    rules.push_back({mirror, "true", "nothing", "{}", task("", ""), "", ""});
    rules.push_back(
        {mirror, "true", "a request", "{}", task("1.50", ""), "", task("1.50", "1500m")});
    rules.push_back({mirror, "true", "a limit", "{}", task("", "3"), "", ""});
    rules.push_back({mirror, "true", "both", "{}", task("1", "3"), "", ""});
    rules.push_back({mirror, "false", "a request", "{}", task("1", ""), "", ""});
  };
  add(in_container);
  add(in_pod);
  // The run's own word for its later tasks.
  const std::string own = default_entry("requests", name, "1000m");
  rules.push_back({min, "2", "the run's own default", own, "", "", ""});
  rules.push_back({min, "2", "an empty message", R"({"defaultSettings":{}})", "", requests, ""});
  rules.push_back(
      {max, "2", "the run's own max below", default_entry("max", name, "1.0"), "", "", ""});
  rules.push_back({max, "2", "the run's own max above", default_entry("max", name, "3"), "",
                   default_entry("max", name, "2"), ""});
  return rules;
}

std::vector<Rule> task_rules() {
  const std::string gpu = R"({"container":{"resources":{"requests":[{"name":"GPU","value":"1"}]}})";
  const std::string plain = R"({"container":{})";
  const auto with = [](const std::string& task, const std::string& accelerator) {
    return task + R"(,"extendedResources":{"gpuAccelerator":{)" + accelerator + "}}}";
  };
  const char* setting = "task_resource.default_accelerator";
  const char* h100 = "nvidia-h100";
  const std::string filled = with(gpu, R"("device":"nvidia-h100")");
  const std::string in_run = defaults(R"("defaultAccelerator":{"device":"nvidia-h100"})");
  const std::string own_in_run = defaults(R"("defaultAccelerator":{"device":"nvidia-t4"})");
  const auto named = [](const std::string& name) {
    return R"({"container":{},"metadata":{"podTemplateName":")" + name + R"("}})";
  };
  const std::string large = R"({"defaultSettings":{"podTemplateName":"large"}})";
  return {
      {setting, h100, "nothing, with a GPU", "{}", gpu + "}", in_run, filled},
      {setting, h100, "nothing, without a GPU", "{}", plain + "}", in_run, ""},
      {setting, h100, "another one", "{}", with(gpu, R"("device":"nvidia-t4")"), in_run, ""},
      {setting, h100, "a model", "{}", with(gpu, R"("acceleratorModel":"NVIDIA_T4")"), in_run, ""},
      {setting, h100, "an empty message", "{}", with(gpu, ""), in_run, filled},
      {setting, h100, "empty extended resources", "{}", gpu + R"(,"extendedResources":{}})", in_run,
       filled},
      {setting, h100, "a partition only", "{}", with(gpu, R"("unpartitioned":true)"), in_run, ""},
      {setting, h100, "the run's own", own_in_run, gpu + "}", "", filled},
      {"pod_template_name", "large", "nothing", "{}", plain + "}", large, named("large")},
      {"pod_template_name", "large", "an empty message", R"({"defaultSettings":{}})",
       R"({"container":{},"metadata":{}})", large, named("large")},
      {"pod_template_name", "large", "the empty text", "{}", named(""), large, named("large")},
      {"pod_template_name", "large", "something", "{}", named("own"), large, ""},
      {"pod_template_name", "large", "something beside", "{}",
       R"({"container":{},"metadata":{"discoverable":true}})", large,
       R"({"container":{},"metadata":{"discoverable":true,"podTemplateName":"large"}})"},
  };
}

std::vector<Rule> all_rules() {
  std::vector<Rule> all;
  for (const auto& rules :
       {run_rules(), variable_rules(), task_rules(),
        resource_rules_of("CPU", "cpu", "task_resource.min.cpu", "task_resource.max.cpu"),
        resource_rules_of("GPU", "nvidia.com/gpu", "task_resource.min.gpu",
                          "task_resource.max.gpu"),
        resource_rules_of("MEMORY", "memory", "task_resource.min.memory",
                          "task_resource.max.memory"),
        resource_rules_of("EPHEMERAL_STORAGE", "ephemeral-storage", "task_resource.min.storage",
                          "task_resource.max.storage")})
    all.insert(all.end(), rules.begin(), rules.end());
  return all;
}

std::vector<std::string> tasks_of(const std::string& task) {
  return task.empty() ? std::vector<std::string>{} : std::vector{task};
}

void check(const Rule& rule, const std::vector<std::vector<Say>>& chain, bool takes_effect) {
  const AppliedRun was = applied({}, rule.run, tasks_of(rule.task));
  const AppliedRun is = applied(chain, rule.run, tasks_of(rule.task));
  const AppliedRun wanted =
      applied({}, takes_effect && !rule.run_after.empty() ? rule.run_after : rule.run,
              tasks_of(takes_effect && !rule.task_after.empty() ? rule.task_after : rule.task));
  BOOST_TEST(is.violations().empty());
  BOOST_TEST(is.run_json() == wanted.run_json());
  const bool differs =
      is.run_json() != was.run_json() || (!rule.task.empty() && is.task_json() != was.task_json());
  if (!rule.task.empty()) BOOST_TEST(is.task_json() == wanted.task_json());
  BOOST_TEST(is.changes().empty() == !differs);
  for (const auto& change : is.explained.changes) {
    BOOST_TEST(change.setting().starts_with(rule.setting), change.setting());
    BOOST_TEST(change.scope_level() == chain.size() - 1);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(apply_rules)

BOOST_AUTO_TEST_CASE(every_rule_holds_in_every_state_whatever_the_caller_said) {
  const std::vector<Rule> rules = all_rules();
  BOOST_TEST(rules.size() > 190U);
  for (const Rule& rule : rules) {
    const Say value{rule.setting, rule.value};
    const Say unset{rule.setting, "", st::SETTING_STATE_UNSET};
    const Say inherit{rule.setting, "", st::SETTING_STATE_INHERIT};
    BOOST_TEST_CONTEXT(rule.setting << ", the caller said " << rule.caller_says << ": " << rule.run
                                    << " " << rule.task) {
      BOOST_TEST_CONTEXT("VALUE") check(rule, {{value}}, true);
      BOOST_TEST_CONTEXT("VALUE at a project") check(rule, {{}, {}, {value}}, true);
      BOOST_TEST_CONTEXT("VALUE over UNSET") check(rule, {{unset}, {value}}, true);
      BOOST_TEST_CONTEXT("UNSET") check(rule, {{unset}}, false);
      BOOST_TEST_CONTEXT("UNSET over VALUE") check(rule, {{value}, {unset}}, false);
      BOOST_TEST_CONTEXT("INHERIT") check(rule, {{inherit}}, false);
      BOOST_TEST_CONTEXT("absent") check(rule, {}, false);
    }
  }
}

BOOST_AUTO_TEST_CASE(inherit_below_a_value_leaves_it_to_the_broader_scope) {
  const AppliedRun run = applied(
      {{{"run.default_queue", "fast"}}, {{"run.default_queue", "", st::SETTING_STATE_INHERIT}}},
      "{}", {});
  BOOST_TEST(run.changes() == std::vector<std::string>{"run_spec.queue: nothing -> fast FILLED by "
                                                       "run.default_queue@ORG"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_entry_of_a_map_is_told_with_the_scope_that_says_it) {
  const AppliedRun run =
      applied({{{"labels", "a=1,b=1"}}, {{"labels", "b=2,c=2"}}, {{"labels", "d=3"}}}, "{}", {});
  BOOST_TEST(
      run.changes() == (std::vector<std::string>{
                           "run_spec.labels[\"a\"]: nothing -> 1 FILLED by labels[\"a\"]@ORG",
                           "run_spec.labels[\"b\"]: nothing -> 2 FILLED by labels[\"b\"]@DOMAIN",
                           "run_spec.labels[\"c\"]: nothing -> 2 FILLED by labels[\"c\"]@DOMAIN",
                           "run_spec.labels[\"d\"]: nothing -> 3 FILLED by labels[\"d\"]@PROJECT"}),
      boost::test_tools::per_element());
  const AppliedRun taken_back =
      applied({{{"labels", "a=1"}}, {{"labels", "", st::SETTING_STATE_UNSET}}, {{"labels", "d=3"}}},
              "{}", {});
  BOOST_TEST(taken_back.changes() ==
                 std::vector<std::string>{
                     "run_spec.labels[\"d\"]: nothing -> 3 FILLED by labels[\"d\"]@PROJECT"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_run_that_names_its_own_pod_template_is_told_that_its_tasks_get_another) {
  const AppliedRun run =
      applied({{{"pod_template_name", "large"}}},
              R"({"defaultSettings":{"podTemplateName":"own"}})", {R"({"container":{}})"});
  BOOST_TEST(run.changes() == std::vector<std::string>{"tasks[0].metadata.pod_template_name: "
                                                       "nothing -> large FILLED by "
                                                       "pod_template_name@ORG"},
             boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(run.explained.warnings.size() == 1U);
  BOOST_TEST(run.explained.warnings[0].find("its own pod template \"own\"") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
