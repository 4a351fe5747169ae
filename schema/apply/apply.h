#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "flyteidl2/core/tasks.pb.h"
#include "flyteidl2/task/run.pb.h"
#include "schema/apply/explained.h"
#include "schema/apply/resolved.h"
#include "schema/apply/resource_rules.h"
#include "schema/merge.h"

namespace writ {

/// How many tasks one run may send along.
inline constexpr std::size_t kMostTasks = 500;

using TaskTemplates = google::protobuf::RepeatedPtrField<flyteidl2::core::TaskTemplate>;

/// The settings in effect at the end of a chain, broadest first, made ready to be applied to any
/// number of runs. A function of the chain alone, which it does not refer to. Immutable, and stays
/// where it is.
struct ReadySettings {
  explicit ReadySettings(const std::vector<Level>& chain)
      : resolved(chain), rules(resource_rules(resolved, &warnings)) {}

  std::vector<std::string> warnings;  ///< About the settings themselves, in every answer.
  const ResolvedSettings resolved;
  const ResourceRules rules;
};

/// Applies settings to a run and its tasks, by the rules of schema/apply/README.md. What the caller
/// says wins, but for the ceilings of `task_resource.max`. A function of its arguments alone;
/// applied to its own result it changes nothing.
///
/// When the result has violations, nothing may be done with the run and the tasks. Its changes lie
/// on `arena`, when there is one.
Explained apply_settings(const ReadySettings& settings, flyteidl2::task::RunSpec* run,
                         TaskTemplates* tasks, google::protobuf::Arena* arena = nullptr);

/// The same, for a chain that is used once.
Explained apply_settings(const std::vector<Level>& chain, flyteidl2::task::RunSpec* run,
                         TaskTemplates* tasks, google::protobuf::Arena* arena = nullptr);

}  // namespace writ
