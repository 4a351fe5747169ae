#include "schema/merge.h"

#include "schema/leaf.h"

namespace writ {
namespace {

namespace pb = google::protobuf;
namespace st = flyteidl2::settings;

/// CopyFrom without its search for `into` within `from`.
void replace(const pb::Message& from, pb::Message* into) {
  into->Clear();
  into->MergeFrom(from);
}

/// Lays `from` over the entries that `into` has gathered.
void merge_string_map(const pb::Message& from, pb::Message* into, const LeafShape& shape) {
  const bool had_value = leaf_state(*into, shape) == st::SETTING_STATE_VALUE;
  if (!had_value || leaf_state(from, shape) != st::SETTING_STATE_VALUE) {
    replace(from, into);
  } else {
    // Merging map fields is a union in which the source wins.
    into->MergeFrom(from);
  }
}

void merge_leaf(const pb::Message& from, Scope scope, pb::Message* into, const LeafShape& shape) {
  if (shape.is_string_map()) {
    merge_string_map(from, into, shape);
  } else {
    replace(from, into);
  }
  const pb::Reflection* reflection = into->GetReflection();
  reflection->SetEnumValue(into, shape.scope_level, static_cast<int>(scope));
  if (leaf_state(*into, shape) == st::SETTING_STATE_UNSET) {
    reflection->ClearField(into, shape.value);
  }
}

void merge_group(const pb::Message& from, Scope scope, pb::Message* into) {
  const pb::Reflection* reflection = from.GetReflection();
  std::vector<const pb::FieldDescriptor*> present;
  reflection->ListFields(from, &present);
  for (const pb::FieldDescriptor* field : present) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    const pb::Message& child = reflection->GetMessage(from, field);
    if (const auto shape = leaf_shape(*child.GetDescriptor())) {
      if (leaf_state(child, *shape) == st::SETTING_STATE_INHERIT) continue;
      merge_leaf(child, scope, reflection->MutableMessage(into, field), *shape);
    } else {
      pb::Message* group = reflection->MutableMessage(into, field);
      merge_group(child, scope, group);
      if (group->ByteSizeLong() == 0) reflection->ClearField(into, field);
    }
  }
}

}  // namespace

st::Settings merge(const std::vector<Level>& levels) {
  st::Settings merged;
  for (const Level& level : levels) {
    if (level.settings) merge_group(*level.settings, level.scope, &merged);
  }
  return merged;
}

}  // namespace writ
