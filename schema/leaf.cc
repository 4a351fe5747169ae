#include "schema/leaf.h"

#include <algorithm>
#include <unordered_map>

namespace writ {
namespace {

namespace pb = google::protobuf;

void visit_leaves(const pb::Message& message, const std::string& prefix,
                  const std::function<void(const Leaf&)>& visit) {
  std::vector<const pb::FieldDescriptor*> present;
  // ListFields orders by number.
  message.GetReflection()->ListFields(message, &present);
  for (const pb::FieldDescriptor* field : present) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    const pb::Message& child = message.GetReflection()->GetMessage(message, field);
    std::string path = prefix + field->name();
    if (const auto shape = leaf_shape(*child.GetDescriptor())) {
      visit(Leaf{std::move(path), field, &child, *shape});
    } else {
      visit_leaves(child, path + ".", visit);
    }
  }
}

}  // namespace

bool LeafShape::is_string_map() const {
  return value->message_type() == flyteidl2::settings::StringMap::descriptor();
}

namespace {

std::optional<LeafShape> find_shape(const pb::Descriptor& type) {
  if (type.field_count() != 3) return std::nullopt;
  LeafShape shape{};
  for (int i = 0; i < 3; ++i) {
    const pb::FieldDescriptor* field = type.field(i);
    if (field->is_repeated()) return std::nullopt;
    if (field->enum_type() == flyteidl2::settings::SettingState_descriptor()) {
      shape.state = field;
    } else if (field->enum_type() == flyteidl2::settings::ScopeLevel_descriptor()) {
      shape.scope_level = field;
    } else {
      shape.value = field;
    }
  }
  if (!shape.state || !shape.scope_level || !shape.value) return std::nullopt;
  return shape;
}

}  // namespace

std::optional<LeafShape> leaf_shape(const pb::Descriptor& type) {
  // Asked several times for every leaf of every request; there are a few dozen types.
  thread_local std::unordered_map<const pb::Descriptor*, std::optional<LeafShape>> known;
  const auto [found, added] = known.try_emplace(&type);
  if (added) found->second = find_shape(type);
  return found->second;
}

bool is_leaf(const pb::Descriptor& type) { return leaf_shape(type).has_value(); }

int leaf_state(const pb::Message& leaf, const LeafShape& shape) {
  return leaf.GetReflection()->GetEnumValue(leaf, shape.state);
}

void for_each_leaf(const pb::Message& settings, const std::function<void(const Leaf&)>& visit) {
  visit_leaves(settings, "", visit);
}

std::vector<const pb::FieldDescriptor*> fields_by_number(const pb::Descriptor& type) {
  std::vector<const pb::FieldDescriptor*> fields;
  for (int i = 0; i < type.field_count(); ++i) fields.push_back(type.field(i));
  std::sort(fields.begin(), fields.end(),
            [](const auto* a, const auto* b) { return a->number() < b->number(); });
  return fields;
}

}  // namespace writ
