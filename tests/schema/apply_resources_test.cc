#include <boost/test/unit_test.hpp>

#include "schema/apply/devices.h"
#include "tests/schema/apply_cases.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;
using Lines = std::vector<std::string>;

const char kMinCpu[] = "task_resource.min.cpu";
const char kMaxCpu[] = "task_resource.max.cpu";
const char kMaxGpu[] = "task_resource.max.gpu";
const char kMirror[] = "task_resource.mirror_limits_request";
const char kAccelerator[] = "task_resource.default_accelerator";

/// The changes of the first task.
Lines task_changes(const AppliedRun& run) {
  Lines lines = run.changes();
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("tasks["); });
  return lines;
}

struct Quantities {
  const char* name;
  std::vector<Say> settings;
  std::string requests, limits;  // of the container
  std::string requests_after, limits_after;
};

void check_quantities(const Quantities& row) {
  const AppliedRun run = applied({row.settings}, "{}", {container_task(row.requests, row.limits)});
  const AppliedRun wanted =
      applied({}, "{}", {container_task(row.requests_after, row.limits_after)});
  BOOST_TEST_CONTEXT(row.name) {
    BOOST_TEST(run.violations().empty());
    BOOST_TEST(run.task_json() == wanted.task_json());
  }
}

const std::vector<Quantities>& quantity_rows() {
  static const std::vector<Quantities> rows{
      {"a min above the max of another scope is the max",
       {{kMinCpu, "4"}, {kMaxCpu, "2"}},
       "",
       "",
       "CPU=2",
       ""},
      {"a min above the limit is the limit",
       {{kMinCpu, "4"}},
       "",
       "CPU=1.5",
       "CPU=1500m",
       "CPU=1.5"},
      {"a min above max and limit is the lesser: the limit",
       {{kMinCpu, "4"}, {kMaxCpu, "3"}},
       "",
       "CPU=1",
       "CPU=1",
       "CPU=1"},
      {"a min above max and limit is the lesser: the max",
       {{kMinCpu, "4"}, {kMaxCpu, "3"}},
       "",
       "CPU=8",
       "CPU=3",
       "CPU=3"},
      {"a request above its limit is the limit, without any setting",
       {},
       "CPU=4",
       "CPU=2",
       "CPU=2",
       "CPU=2"},
      {"a request above its limit and both above max",
       {{kMaxCpu, "1"}},
       "CPU=4",
       "CPU=2",
       "CPU=1",
       "CPU=1"},
      {"a request above its limit, which is below max",
       {{kMaxCpu, "3"}},
       "CPU=4",
       "CPU=2",
       "CPU=2",
       "CPU=2"},
      {"a filled request is mirrored",
       {{kMinCpu, "4"}, {kMirror, "true"}},
       "",
       "",
       "CPU=4",
       "CPU=4"},
      {"a capped request is mirrored",
       {{kMaxCpu, "2"}, {kMirror, "true"}},
       "CPU=4",
       "",
       "CPU=2",
       "CPU=2"},
      {"without mirroring no limit is made up",
       {{kMinCpu, "4"}, {kMaxCpu, "8"}},
       "",
       "",
       "CPU=4",
       ""},
      {"1.5 is not above 1500m and keeps its spelling",
       {{kMaxCpu, "1500m"}},
       "CPU=1.5",
       "",
       "CPU=1.5",
       ""},
      {"1500m is not above 1.5 and keeps its spelling",
       {{kMaxCpu, "1.5"}},
       "CPU=1500m",
       "",
       "CPU=1500m",
       ""},
      {"1e3 is above 999", {{kMaxCpu, "999"}}, "CPU=1e3", "", "CPU=999", ""},
      {"1e3 is not above 1k", {{kMaxCpu, "1k"}}, "CPU=1e3", "", "CPU=1e3", ""},
      {"1001 is above 1e3, in the notation of the setting",
       {{kMaxCpu, "1e3"}},
       "CPU=1001",
       "",
       "CPU=1e3",
       ""},
      {"a setting is filled in canonical", {{kMinCpu, "2000m"}}, "", "", "CPU=2", ""},
      {"1Gi is above 1G", {{"task_resource.max.memory", "1G"}}, "MEMORY=1Gi", "", "MEMORY=1G", ""},
      {"0 is a request", {{kMinCpu, "1"}}, "CPU=0", "", "CPU=0", ""},
      {"a max of 0", {{kMaxCpu, "0"}}, "CPU=1m", "CPU=1", "CPU=0", "CPU=0"},
      {"one nano more", {{kMaxCpu, "1"}}, "CPU=1.000000001", "", "CPU=1", ""},
      {"what floating point cannot tell apart",
       {{kMaxCpu, "9007199254740992"}},
       "CPU=9007199254740993",
       "",
       "CPU=9007199254740992",
       ""},
      {"resources of which no setting speaks stay",
       {{kMaxCpu, "1"}, {"task_resource.max.storage", "1"}, {kMirror, "true"}},
       "STORAGE=9,UNKNOWN=7",
       "",
       "STORAGE=9,UNKNOWN=7",
       ""},
      {"a GPU is capped, request and limit", {{kMaxGpu, "1"}}, "GPU=4", "GPU=4", "GPU=1", "GPU=1"},
      {"a limit of no GPU is no GPU", {{"task_resource.min.gpu", "1"}}, "", "GPU=0", "", "GPU=0"},
      {"a max is no GPU for who has none", {{kMaxGpu, "4"}, {kMirror, "true"}}, "", "", "", ""},
  };
  return rows;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(apply_resources)

BOOST_AUTO_TEST_CASE(quantities_meet_ceilings_limits_and_each_other) {
  for (const Quantities& row : quantity_rows()) check_quantities(row);
}

BOOST_AUTO_TEST_CASE(every_change_is_explained) {
  const std::vector<std::vector<Say>> chain{
      {{kMinCpu, "4"}, {"task_resource.max.memory", "1Gi"}}, {{kMaxCpu, "2"}}, {{kMirror, "true"}}};
  const AppliedRun run =
      applied(chain, "{}", {container_task("MEMORY=2Gi", ""), container_task("", "CPU=0.5")});
  const std::string first = "tasks[0].container.resources.";
  const std::string second = "tasks[1].container.resources.";
  const std::string mirror = " MIRRORED by task_resource.mirror_limits_request@PROJECT";
  BOOST_TEST(task_changes(run) ==
                 (Lines{first + "requests[\"CPU\"]: nothing -> 2 FILLED by "
                                "task_resource.min.cpu@ORG, kept by task_resource.max.cpu@DOMAIN",
                        first + "limits[\"CPU\"]: nothing -> 2" + mirror,
                        first + "requests[\"MEMORY\"]: 2Gi -> 1Gi CAPPED by "
                                "task_resource.max.memory@ORG",
                        first + "limits[\"MEMORY\"]: nothing -> 1Gi" + mirror,
                        second +
                            "requests[\"CPU\"]: nothing -> 500m FILLED by "
                            "task_resource.min.cpu@ORG, kept by " +
                            second + "limits[\"CPU\"]"}),
             boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(run.explained.warnings.size() == 1U);
  BOOST_TEST(run.explained.warnings[0] ==
             "task_resource.min.cpu 4 is above task_resource.max.cpu 2, so the latter is used for "
             "both");
}

BOOST_AUTO_TEST_CASE(a_request_above_its_own_limit_is_told_without_a_setting) {
  const AppliedRun run = applied({}, "{}", {container_task("CPU=4", "CPU=2")});
  const std::string at = "tasks[0].container.resources.";
  BOOST_TEST(run.changes() ==
                 Lines{at + "requests[\"CPU\"]: 4 -> 2 CAPPED, kept by " + at + "limits[\"CPU\"]"},
             boost::test_tools::per_element());
  BOOST_TEST(run.explained.warnings ==
                 Lines{at + "requests[\"CPU\"] 4 is above the limit 2, so it is lowered to that"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_pod_keeps_the_kind_and_the_spelling_of_what_is_not_changed) {
  const AppliedRun run =
      applied({{{kMinCpu, "1"}, {kMaxCpu, "4"}, {"task_resource.max.memory", "1Gi"}}}, "{}",
              {pod_task("cpu=2,memory=\"1024Mi\"", "cpu=8.5,memory=1e12")});
  BOOST_TEST(run.task_json() ==
             applied({}, "{}", {pod_task("cpu=2,memory=\"1024Mi\"", "cpu=\"4\",memory=\"1Gi\"")})
                 .task_json());
  const std::string at = "tasks[0].k8s_pod.pod_spec.containers[\"main\"].resources.";
  BOOST_TEST(task_changes(run) ==
                 (Lines{at + "limits[\"cpu\"]: 8.5 -> 4 CAPPED by task_resource.max.cpu@ORG",
                        at + "limits[\"memory\"]: 1e+12 -> 1Gi CAPPED by "
                             "task_resource.max.memory@ORG"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(devices_of_every_vendor_are_gpus_in_a_pod) {
  for (const std::string device :
       {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "amd.com/gpu",
        "google.com/tpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore",
        "aws.amazon.com/neurondevice", "habana.ai/gaudi", "gpu.intel.com/i915",
        "gpu.intel.com/xe"}) {
    BOOST_TEST_CONTEXT(device) {
      const AppliedRun run = applied({{{kMaxGpu, "2"}, {kMirror, "true"}}}, "{}",
                                     {pod_task(device + "=4", ""), pod_task("", device + "=1")});
      BOOST_TEST(run.task_json(0) ==
                 applied({}, "{}", {pod_task(device + "=\"2\"", device + "=\"2\"")}).task_json());
      BOOST_TEST(run.task_json(1) == applied({}, "{}", {pod_task("", device + "=1")}).task_json());
    }
  }
  BOOST_TEST(!is_device("cpu"));
  BOOST_TEST(!is_device("example.com/gpu"));
  const AppliedRun other = applied({{{kMaxGpu, "2"}, {kMirror, "true"}}}, "{}",
                                   {pod_task("hugepages-2Mi=\"4Mi\",example.com/fpga=9", "")});
  BOOST_TEST(task_changes(other).empty());
}

BOOST_AUTO_TEST_CASE(the_accelerator_is_for_devices_of_its_own_class) {
  struct Row {
    const char* accelerator;
    const char* device;
    bool filled;
  };
  for (const Row& row :
       {Row{"nvidia-h100", "nvidia.com/gpu", true},
        Row{"nvidia-h100", "nvidia.com/mig-1g.5gb", true}, Row{"nvidia-h100", "amd.com/gpu", false},
        Row{"nvidia-h100", "gpu.intel.com/xe", false}, Row{"amd-mi300x", "amd.com/gpu", true},
        Row{"amd-mi300x", "nvidia.com/gpu", false}, Row{"google-tpu-v5e", "google.com/tpu", true},
        Row{"aws-trn1", "aws.amazon.com/neuron", true},
        Row{"habana-gaudi1", "habana.ai/gaudi", true}}) {
    BOOST_TEST_CONTEXT(row.accelerator << " for " << row.device) {
      const AppliedRun run = applied({{{kAccelerator, row.accelerator}}}, "{}",
                                     {pod_task("", std::string(row.device) + "=1")});
      BOOST_TEST(run.tasks[0].has_extended_resources() == row.filled);
      BOOST_TEST(run.explained.warnings.size() == (row.filled ? 0U : 1U));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_task_that_a_ceiling_leaves_without_a_gpu_gets_no_accelerator) {
  const std::vector<Say> settings{{kMaxGpu, "0"}, {kAccelerator, "nvidia-h100"}};
  for (const std::string& task :
       {container_task("GPU=1", "GPU=1"), pod_task("", "nvidia.com/gpu=1")}) {
    const AppliedRun run = applied({settings}, "{}", {task});
    BOOST_TEST(!run.tasks[0].has_extended_resources());
  }
}

BOOST_AUTO_TEST_CASE(a_task_that_names_its_accelerator_is_not_warned_and_one_that_half_does_is) {
  const std::string gpu = R"({"container":{"resources":{"limits":[{"name":"GPU","value":"1"}]}},)"
                          R"("extendedResources":{"gpuAccelerator":{)";
  const auto warnings = [&](const std::string& accelerator) {
    return applied({{{kAccelerator, "nvidia-h100"}}}, "{}", {gpu + accelerator + "}}}"})
        .explained.warnings;
  };
  BOOST_TEST(warnings(R"("device":"nvidia-t4")").empty());
  BOOST_TEST(warnings(R"("acceleratorModel":"NVIDIA_T4")").empty());
  BOOST_TEST(warnings(R"("partitionSize":"1g.5gb")") ==
                 Lines{"tasks[0].extended_resources.gpu_accelerator says something but names no "
                       "device, so task_resource.default_accelerator is not filled in"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_accelerator_comes_whole) {
  st::Settings settings;
  auto& leaf = *settings.mutable_task_resource()->mutable_default_accelerator();
  leaf.set_state(st::SETTING_STATE_VALUE);
  leaf.mutable_accelerator_value()->set_device("nvidia-a100");
  leaf.mutable_accelerator_value()->set_partition_size("1g.5gb");
  TaskTemplates tasks;
  auto* request = tasks.Add()->mutable_container()->mutable_resources()->add_limits();
  request->set_name(flyteidl2::core::Resources::GPU);
  request->set_value("1");
  flyteidl2::task::RunSpec run;
  const Explained explained = apply_settings({{Scope::kInstance, &settings}}, &run, &tasks);
  const auto& filled = tasks[0].extended_resources().gpu_accelerator();
  BOOST_TEST(filled.SerializeAsString() == leaf.accelerator_value().SerializeAsString());
  BOOST_TEST(explained.changes.rbegin()->after() ==
             R"({"device":"nvidia-a100","partitionSize":"1g.5gb"})");
}

BOOST_AUTO_TEST_CASE(a_device_whose_request_is_not_its_limit_is_warned_of) {
  const AppliedRun run =
      applied({{{"task_resource.min.gpu", "1"}}}, "{}", {container_task("", "GPU=2")});
  BOOST_TEST_REQUIRE(run.explained.warnings.size() == 1U);
  BOOST_TEST(run.explained.warnings[0].find("takes a device only where both are the same") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(min_and_max_are_written_to_the_run_for_its_later_tasks) {
  const AppliedRun run = applied(
      {{{kMinCpu, "4"}, {kMaxCpu, "2000m"}, {"task_resource.min.storage", "1Gi"}}},
      R"({"defaultSettings":{"taskResourceDefaults":{"requests":[{"name":"CPU","value":"8"}]}}})",
      {});
  const std::string at = "run_spec.default_settings.task_resource_defaults.";
  BOOST_TEST(
      run.changes() == (Lines{at + "requests[\"CPU\"]: 8 -> 2 CAPPED by task_resource.max.cpu@ORG",
                              at + "max[\"CPU\"]: nothing -> 2 FILLED by task_resource.max.cpu@ORG",
                              at + "requests[\"EPHEMERAL_STORAGE\"]: nothing -> 1Gi FILLED by "
                                   "task_resource.min.storage@ORG"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_primary_container_is_found_by_its_name_the_config_or_alone) {
  const std::string two = R"("podSpec":{"containers":[{"name":"side"},{"name":"main"}]})";
  const std::string one = R"("podSpec":{"containers":[{"name":"any"}]})";
  struct Row {
    const char* name;
    std::string task, at;
  };
  for (const Row& row :
       {Row{"by its name", R"({"k8sPod":{"primaryContainerName":"main",)" + two + "}}", "main"},
        Row{"by the config",
            R"({"config":{"primary_container_name":"main"},"k8sPod":{)" + two + "}}", "main"},
        Row{"alone", R"({"k8sPod":{)" + one + "}}", "any"}}) {
    BOOST_TEST_CONTEXT(row.name) {
      const AppliedRun run = applied({{{kMinCpu, "1"}}}, "{}", {row.task});
      BOOST_TEST(task_changes(run) == Lines{"tasks[0].k8s_pod.pod_spec.containers[\"" + row.at +
                                            "\"].resources.requests[\"cpu\"]: nothing -> 1 FILLED "
                                            "by task_resource.min.cpu@ORG"},
                 boost::test_tools::per_element());
    }
  }
}

struct Fault {
  const char* name;
  std::string task, field, message;
};

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_by_task_and_field) {
  const std::string container = "tasks[1].container.resources.";
  const std::string pod = "tasks[1].k8s_pod.";
  const std::string spec = pod + "pod_spec.containers";
  const std::string main = spec + "[\"main\"].resources";
  const auto with_pod = [](const std::string& fields) { return R"({"k8sPod":{)" + fields + "}}"; };
  const std::string format =
      "quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const Fault faults[] = {
      {"neither container nor pod", "{}", "tasks[1]", "must have a container or a k8s_pod"},
      {"no quantity", container_task("CPU=much", ""), container + "requests[\"CPU\"]",
       "\"much\": " + format},
      {"an unknown suffix", container_task("", "MEMORY=1Gii"), container + "limits[\"MEMORY\"]",
       "\"1Gii\": unable to parse quantity's suffix"},
      {"the empty text", container_task("CPU=", ""), container + "requests[\"CPU\"]",
       "\"\": " + format},
      {"a negative one", container_task("CPU=-1", ""), container + "requests[\"CPU\"]",
       "\"-1\": must not be negative"},
      {"one of which no setting speaks", container_task("STORAGE=x", ""),
       container + "requests[\"STORAGE\"]", "\"x\": " + format},
      {"a long one", container_task("CPU=" + std::string(70, 'x'), ""),
       container + "requests[\"CPU\"]", "\"" + std::string(64, 'x') + "\"...: " + format},
      {"a name twice", container_task("", "CPU=1,GPU=1,CPU=1"), container + "limits[\"CPU\"]",
       "named twice"},
      {"no containers", with_pod(""), spec, "must be a list of containers"},
      {"containers that are none", with_pod(R"("podSpec":{"containers":["main"]})"), spec + "[0]",
       "must be an object"},
      {"a primary container that is not there",
       with_pod(R"("primaryContainerName":"x","podSpec":{"containers":[{"name":"main"}]})"),
       pod + "primary_container_name", "there is no container \"x\" in the pod spec"},
      {"nothing that says which is primary",
       with_pod(R"("podSpec":{"containers":[{"name":"a"},{"name":"b"}]})"),
       pod + "primary_container_name", "must name one of the 2 containers"},
      {"two of the same name",
       with_pod(
           R"("primaryContainerName":"a","podSpec":{"containers":[{"name":"a"},{"name":"a"}]})"),
       spec, "has two containers named \"a\""},
      {"resources that are none",
       with_pod(R"("podSpec":{"containers":[{"name":"main","resources":[]}]})"), main,
       "must be an object"},
      {"requests that are none",
       with_pod(R"("podSpec":{"containers":[{"name":"main","resources":{"requests":1}}]})"),
       main + ".requests", "must be an object"},
      {"a quantity of a wrong kind", pod_task("cpu=true", ""), main + ".requests[\"cpu\"]",
       "must be a quantity, as text or as a number"},
      {"no quantity, in a pod", pod_task("", "memory=\"lots\""), main + ".limits[\"memory\"]",
       "\"lots\": " + format},
      {"a negative number, in a pod", pod_task("nvidia.com/gpu=-1", ""),
       main + ".requests[\"nvidia.com/gpu\"]", "\"-1\": must not be negative"},
  };
  for (const Fault& fault : faults) {
    BOOST_TEST_CONTEXT(fault.name) {
      const AppliedRun run =
          applied({{{kMinCpu, "1"}}}, "{}", {container_task("", ""), fault.task});
      BOOST_TEST(run.violations() ==
                     Lines{fault.field + " | invalid " + fault.field + ": " + fault.message},
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(quantities_of_the_run_itself_are_checked) {
  const AppliedRun run = applied(
      {}, R"({"defaultSettings":{"taskResourceDefaults":{"max":[{"name":"CPU","value":"x"}]}}})",
      {});
  BOOST_TEST_REQUIRE(run.violations().size() == 1U);
  BOOST_TEST(run.violations()[0].starts_with(
      "run_spec.default_settings.task_resource_defaults.max[\"CPU\"] | "));
}

BOOST_AUTO_TEST_CASE(as_many_tasks_as_allowed_pass_and_one_more_is_refused) {
  std::vector<std::string> tasks(kMostTasks, container_task("", ""));
  BOOST_TEST(applied({{{kMinCpu, "1"}}}, "{}", tasks).explained.changes.size() ==
             static_cast<int>(kMostTasks) + 1);
  tasks.push_back(container_task("", ""));
  BOOST_TEST(applied({}, "{}", tasks).violations() ==
                 Lines{"tasks | invalid tasks: there are 501, at most 500 are allowed"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(applied_to_its_own_result_nothing_changes) {
  const std::vector<std::vector<Say>> chain{{{kMinCpu, "4"},
                                             {"task_resource.min.memory", "1Gi"},
                                             {"labels", "a=1"},
                                             {"environment_variables", "A=1"},
                                             {"run.default_queue", "fast"}},
                                            {{kMaxCpu, "2"},
                                             {kMirror, "true"},
                                             {kMaxGpu, "1"},
                                             {kAccelerator, "nvidia-h100"},
                                             {"pod_template_name", "large"}}};
  AppliedRun run = applied(chain, "{}",
                           {container_task("GPU=4", ""), pod_task("", "nvidia.com/gpu=2"),
                            container_task("CPU=3", "CPU=1.0")});
  BOOST_TEST(run.explained.changes.size() > 20);
  const st::Settings instance = settings_saying(chain[0]), domain = settings_saying(chain[1]);
  const Explained again = apply_settings({{Scope::kInstance, &instance}, {Scope::kDomain, &domain}},
                                         &run.run, &run.tasks);
  BOOST_TEST(again.changes.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
