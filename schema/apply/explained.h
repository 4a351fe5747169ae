#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/apply/resolved.h"
#include "schema/validate.h"
#include "writ/apply/v1/apply.pb.h"

namespace writ {

/// What was done to a run and its tasks, or what is wrong with them.
struct Explained {
  /// In order; the positions of the events are left out.
  std::vector<apply::v1::Change> changes;
  std::vector<std::string> warnings;
  /// What the caller sent wrongly. Then run and tasks are half changed and must not be used.
  std::vector<Violation> violations;

  /// Adds a change that a setting made.
  apply::v1::Change& changed(apply::v1::Action action, std::string path,
                             const std::optional<std::string>& before, std::string after,
                             const SettingSource& by);
  /// Fills `field` where it is empty.
  void fill_text(const std::string& value, const SettingSource& by, std::string path,
                 std::string* field);
  /// Adds `invalid {path}: {what}`.
  void refuse(const std::string& path, const std::string& what);
};

}  // namespace writ
