#include <google/protobuf/stubs/logging.h>

#include "schema/apply/apply.h"
#include "schema/stable_bytes.h"
#include "service/json_text.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"
#include "writ/apply/v1/apply.pb.h"

namespace writ::fuzz {
namespace {

namespace st = flyteidl2::settings;

void say(st::QuantitySetting* leaf, const char* value) {
  leaf->set_state(st::SETTING_STATE_VALUE);
  leaf->set_quantity_value(value);
}

/// Settings that have something to do for every rule.
st::Settings busy_settings() {
  st::Settings settings;
  auto& task = *settings.mutable_task_resource();
  say(task.mutable_min()->mutable_cpu(), "500m");
  say(task.mutable_min()->mutable_memory(), "1Gi");
  say(task.mutable_min()->mutable_gpu(), "1");
  say(task.mutable_max()->mutable_cpu(), "2");
  say(task.mutable_max()->mutable_storage(), "10G");
  say(task.mutable_max()->mutable_gpu(), "1e1");
  task.mutable_mirror_limits_request()->set_state(st::SETTING_STATE_VALUE);
  task.mutable_mirror_limits_request()->set_bool_value(true);
  task.mutable_default_accelerator()->set_state(st::SETTING_STATE_VALUE);
  task.mutable_default_accelerator()->mutable_accelerator_value()->set_device("nvidia-h100");
  settings.mutable_pod_template_name()->set_state(st::SETTING_STATE_VALUE);
  settings.mutable_pod_template_name()->set_string_value("large");
  settings.mutable_environment_variables()->set_state(st::SETTING_STATE_VALUE);
  const std::string one = "one";
  (*settings.mutable_environment_variables()->mutable_map_value()->mutable_entries())["A"] = one;
  return settings;
}

void check_refused(const Explained& explained) {
  for (const Violation& violation : explained.violations) {
    require(!violation.path.empty(), "a refusal has a path");
    require(violation.message.starts_with("invalid " + violation.path), "and names it");
    require(is_utf8(violation.message), "in UTF-8");
  }
}

void check_changes(const Explained& explained) {
  for (const apply::v1::Change& change : explained.changes) {
    require(change.before() != change.after(), "a change is one");
    require(!change.setting().empty() || !change.bounded_by().field().empty(),
            "a change has a reason");
  }
}

}  // namespace

void apply_run(std::string_view input) {
  static const st::Settings settings = busy_settings();
  const google::protobuf::LogSilencer silence;
  apply::v1::ApplyRunRequest request;
  if (!request.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  const apply::v1::ApplyRunRequest before = request;
  const Explained explained = apply_settings({{Scope::kDomain, &settings}},
                                             request.mutable_run_spec(), request.mutable_tasks());
  if (!explained.violations.empty()) return check_refused(explained);
  check_changes(explained);
  require(request.tasks_size() == before.tasks_size(), "there are as many tasks as before");
  const std::string once = stable_bytes(request);
  const Explained again = apply_settings({{Scope::kDomain, &settings}}, request.mutable_run_spec(),
                                         request.mutable_tasks());
  require(again.violations.empty() && again.changes.empty() && stable_bytes(request) == once,
          "applied to its own result it changes nothing");

  apply::v1::ApplyRunRequest untouched = before;
  if (!untouched.has_run_spec()) untouched.mutable_run_spec();
  const std::string whole = stable_bytes(untouched);
  const Explained nothing =
      apply_settings({}, untouched.mutable_run_spec(), untouched.mutable_tasks());
  require(!nothing.changes.empty() || stable_bytes(untouched) == whole,
          "what is not told of did not change");
}

}  // namespace writ::fuzz
