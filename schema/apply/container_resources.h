#pragma once

#include <string>

#include "flyteidl2/core/tasks.pb.h"
#include "flyteidl2/task/run.pb.h"
#include "schema/apply/explained.h"
#include "schema/apply/resource_rules.h"

namespace writ {

/// Applies the rules to a container's resources; `path` names the container. Answers whether the
/// task asks for a GPU afterwards.
bool apply_to_container(const ResourceRules& rules, const std::string& path,
                        flyteidl2::core::Container* container, Explained* explained);

/// Writes min, max and the default accelerator to the run's `task_resource_defaults`, for the tasks
/// that it starts later: each where the run says nothing. What the run says itself is capped.
void apply_to_run_defaults(const ResolvedSettings& resolved, const ResourceRules& rules,
                           flyteidl2::task::RunSpec* run, Explained* explained);

}  // namespace writ
