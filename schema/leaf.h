#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"

namespace writ {

/// The three fields of a leaf type.
struct LeafShape {
  const google::protobuf::FieldDescriptor* state;
  const google::protobuf::FieldDescriptor* value;
  const google::protobuf::FieldDescriptor* scope_level;

  /// True when the value is a `StringMap`: such leaves merge key by key, all others are taken
  /// whole.
  bool is_string_map() const;
};

/// The shape of a leaf type, told by its fields and not by a list: a `SettingState`, a `ScopeLevel`
/// and one field more. Nothing for every other type.
std::optional<LeafShape> leaf_shape(const google::protobuf::Descriptor& type);

/// True for the message types that are leaves.
bool is_leaf(const google::protobuf::Descriptor& type);

/// The state of a leaf, which may be a number that SettingState does not know.
int leaf_state(const google::protobuf::Message& leaf, const LeafShape& shape);

/// One leaf that is present in a settings tree. Points into the tree and lives no longer than it.
struct Leaf {
  /// Dotted proto names, e.g. `task_resource.min.cpu`.
  std::string path;
  /// The field that holds the leaf; carries `desc` and the rules.
  const google::protobuf::FieldDescriptor* field;
  /// The leaf itself, e.g. a QuantitySetting.
  const google::protobuf::Message* message;
  LeafShape shape;

  /// A number that SettingState may not know.
  int state() const { return leaf_state(*message, shape); }
  bool has_value() const { return state() == flyteidl2::settings::SETTING_STATE_VALUE; }
};

/// Calls `visit` for every leaf present in `settings`, whatever its state, in field-number order.
void for_each_leaf(const google::protobuf::Message& settings,
                   const std::function<void(const Leaf&)>& visit);

/// The fields of a message type in field-number order.
/// (Descriptors keep them in the order of the .proto file.)
std::vector<const google::protobuf::FieldDescriptor*> fields_by_number(
    const google::protobuf::Descriptor& type);

}  // namespace writ
