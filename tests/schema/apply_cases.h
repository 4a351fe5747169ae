#pragma once

#include <string>
#include <vector>

#include "schema/apply/apply.h"
#include "schema/leaf.h"

namespace writ {

/// What one scope says about one setting. `value` is text for every kind of leaf: a number, `true`,
/// the device of an accelerator, or `key=value,key=value` of a map.
struct Say {
  std::string path;
  std::string value;
  flyteidl2::settings::SettingState state = flyteidl2::settings::SETTING_STATE_VALUE;
};

/// Settings that say this.
flyteidl2::settings::Settings settings_saying(const std::vector<Say>& says);

/// A message from its JSON, which must be readable.
template <typename Message>
Message message_of(const std::string& json);

/// A run and its tasks, and what became of them.
struct AppliedRun {
  flyteidl2::task::RunSpec run;
  TaskTemplates tasks;
  Explained explained;

  /// One line each: `path: before -> after ACTION by setting@LEVEL`, with `, kept by …`.
  std::vector<std::string> changes() const;
  std::vector<std::string> violations() const;
  std::string run_json() const;
  std::string task_json(int i = 0) const;
};

/// Applies a chain, broadest first from the instance, to a run and tasks given as JSON.
AppliedRun applied(const std::vector<std::vector<Say>>& chain, const std::string& run,
                   const std::vector<std::string>& tasks);

/// JSON of a task with this container.
std::string container_task(const std::string& requests, const std::string& limits);
/// JSON of a task with a pod whose only container, `main`, has these resources.
std::string pod_task(const std::string& requests, const std::string& limits);

}  // namespace writ
