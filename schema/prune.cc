#include "schema/prune.h"

#include "schema/leaf.h"

namespace writ {
namespace {

namespace pb = google::protobuf;

/// Of this message alone, not of those in it: DiscardUnknownFields walks them all once more.
void drop_unknown_fields(pb::Message* message) {
  const pb::Reflection* reflection = message->GetReflection();
  if (!reflection->GetUnknownFields(*message).empty())
    reflection->MutableUnknownFields(message)->Clear();
}

/// True when nothing is left of the leaf.
bool prune_leaf(pb::Message* leaf, const LeafShape& shape) {
  const pb::Reflection* reflection = leaf->GetReflection();
  drop_unknown_fields(leaf);
  const int state = leaf_state(*leaf, shape);
  if (state == flyteidl2::settings::SETTING_STATE_INHERIT) return true;
  reflection->ClearField(leaf, shape.scope_level);
  bool empty_value = false;
  if (shape.value->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE &&
      reflection->HasField(*leaf, shape.value)) {
    pb::Message* value = reflection->MutableMessage(leaf, shape.value);
    value->DiscardUnknownFields();
    empty_value = value->ByteSizeLong() == 0;
  }
  if (state == flyteidl2::settings::SETTING_STATE_UNSET || empty_value) {
    reflection->ClearField(leaf, shape.value);
  }
  return false;
}

/// True when nothing is left of the group.
bool prune_group(pb::Message* group) {
  const pb::Reflection* reflection = group->GetReflection();
  drop_unknown_fields(group);
  std::vector<const pb::FieldDescriptor*> present;
  reflection->ListFields(*group, &present);
  bool empty = true;
  for (const pb::FieldDescriptor* field : present) {
    bool drop = false;
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE && !field->is_repeated()) {
      pb::Message* child = reflection->MutableMessage(group, field);
      const auto shape = leaf_shape(*child->GetDescriptor());
      drop = shape ? prune_leaf(child, *shape) : prune_group(child);
    }
    if (drop) {
      reflection->ClearField(group, field);
    } else {
      empty = false;
    }
  }
  return empty;
}

}  // namespace

void prune(flyteidl2::settings::Settings* settings) { prune_group(settings); }

}  // namespace writ
