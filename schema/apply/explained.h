#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/repeated_ptr_field.h>

#include <string>
#include <vector>

#include "schema/apply/resolved.h"
#include "schema/validate.h"
#include "writ/apply/v1/apply.pb.h"

namespace writ {

using Changes = google::protobuf::RepeatedPtrField<apply::v1::Change>;

/// What was done to a run and its tasks, or what is wrong with them.
struct Explained {
  Explained() = default;
  /// With its changes on `arena`, which may be null.
  explicit Explained(google::protobuf::Arena* arena) : changes(arena) {}

  /// In order; the positions of the events are left out.
  Changes changes;
  std::vector<std::string> warnings;
  /// What the caller sent wrongly. Then run and tasks are half changed and must not be used.
  std::vector<Violation> violations;

  /// Adds a change that a setting made. `before` is null where there was nothing.
  apply::v1::Change& changed(apply::v1::Action action, std::string path, const std::string* before,
                             std::string after, const SettingSource& by);
  /// Fills `field` where it is empty.
  void fill_text(const std::string& value, const SettingSource& by, std::string path,
                 std::string* field);
  /// Adds `invalid {path}: {what}`.
  void refuse(const std::string& path, const std::string& what);
};

}  // namespace writ
