#pragma once

#include <string>

#include "flyteidl2/core/tasks.pb.h"
#include "schema/apply/devices.h"
#include "schema/apply/explained.h"
#include "schema/apply/resource_rules.h"

namespace writ {

/// Applies the rules to the primary container of a task's pod spec: the one that the pod names, or
/// `primary_container_name` of the task's config, or the only one there is. `path` names the task.
/// Answers which device it asks for afterwards. Refuses a pod spec whose primary container or
/// resources cannot be found or read.
AskedDevices apply_to_pod(const ResourceRules& rules, const std::string& path,
                          flyteidl2::core::TaskTemplate* task, Explained* explained);

}  // namespace writ
