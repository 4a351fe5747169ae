#include "schema/apply/apply.h"

#include "schema/apply/container_resources.h"
#include "schema/apply/devices.h"
#include "schema/apply/pod_resources.h"
#include "schema/apply/pod_template.h"
#include "schema/apply/resource_rules.h"
#include "schema/apply/run_fields.h"

namespace writ {
namespace {

void apply_to_task(const ResolvedSettings& resolved, const ResourceRules& rules,
                   const std::string& path, flyteidl2::core::TaskTemplate* task,
                   Explained* explained) {
  AskedDevices devices;
  if (task->has_container()) {
    devices.any =
        apply_to_container(rules, path + ".container", task->mutable_container(), explained);
  } else if (task->has_k8s_pod()) {
    devices = apply_to_pod(rules, path, task, explained);
  } else {
    explained->refuse(path, "must have a container or a k8s_pod");
    return;
  }
  apply_accelerator(resolved, devices, path, task, explained);
  apply_pod_template(resolved, path, task, explained);
}

}  // namespace

Explained apply_settings(const ReadySettings& settings, flyteidl2::task::RunSpec* run,
                         TaskTemplates* tasks, google::protobuf::Arena* arena) {
  Explained explained(arena);
  if (static_cast<std::size_t>(tasks->size()) > kMostTasks) {
    explained.refuse("tasks", "there are " + std::to_string(tasks->size()) + ", at most " +
                                  std::to_string(kMostTasks) + " are allowed");
    return explained;
  }
  const ResolvedSettings& resolved = settings.resolved;
  const ResourceRules& rules = settings.rules;
  explained.warnings = settings.warnings;
  const std::string own_template = run->default_settings().pod_template_name();
  apply_run_fields(resolved, run, &explained);
  apply_run_maps(resolved, run, &explained);
  apply_pod_template(resolved, run, &explained);
  apply_to_run_defaults(resolved, rules, run, &explained);
  for (int i = 0; i < tasks->size(); ++i)
    apply_to_task(resolved, rules, "tasks[" + std::to_string(i) + "]", tasks->Mutable(i),
                  &explained);
  warn_of_pod_template(own_template, &explained);
  return explained;
}

Explained apply_settings(const std::vector<Level>& chain, flyteidl2::task::RunSpec* run,
                         TaskTemplates* tasks, google::protobuf::Arena* arena) {
  return apply_settings(ReadySettings(chain), run, tasks, arena);
}

}  // namespace writ
