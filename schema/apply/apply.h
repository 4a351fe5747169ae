#pragma once

#include <cstddef>
#include <vector>

#include "flyteidl2/core/tasks.pb.h"
#include "flyteidl2/task/run.pb.h"
#include "schema/apply/explained.h"
#include "schema/merge.h"

namespace writ {

/// How many tasks one run may send along.
inline constexpr std::size_t kMostTasks = 500;

using TaskTemplates = google::protobuf::RepeatedPtrField<flyteidl2::core::TaskTemplate>;

/// Applies the settings in effect at the end of `chain`, broadest first, to a run and its tasks, by
/// the rules of schema/apply/README.md. What the caller says wins, but for the ceilings of
/// `task_resource.max`. A function of its arguments alone; applied to its own result it changes
/// nothing.
///
/// When the result has violations, nothing may be done with the run and the tasks. Its changes lie
/// on `arena`, when there is one.
Explained apply_settings(const std::vector<Level>& chain, flyteidl2::task::RunSpec* run,
                         TaskTemplates* tasks, google::protobuf::Arena* arena = nullptr);

}  // namespace writ
