#pragma once

#include <string>

#include "flyteidl2/core/tasks.pb.h"
#include "flyteidl2/task/run.pb.h"
#include "schema/apply/explained.h"

namespace writ {

/// Fills the run's default pod template where it names none.
void apply_pod_template(const ResolvedSettings& resolved, flyteidl2::task::RunSpec* run,
                        Explained* explained);

/// Fills the task's pod template where it names none.
void apply_pod_template(const ResolvedSettings& resolved, const std::string& path,
                        flyteidl2::core::TaskTemplate* task, Explained* explained);

/// Warns when a task was given the setting's template although the run names another one of its
/// own.
void warn_of_pod_template(const std::string& of_run, Explained* explained);

}  // namespace writ
