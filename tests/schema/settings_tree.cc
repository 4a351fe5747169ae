#include "tests/schema/settings_tree.h"

namespace writ {
namespace {

namespace pb = google::protobuf;

void walk(const pb::Descriptor& type, std::vector<const pb::FieldDescriptor*>* steps,
          std::vector<LeafPlace>* places) {
  for (int i = 0; i < type.field_count(); ++i) {
    steps->push_back(type.field(i));
    const pb::Descriptor& inner = *type.field(i)->message_type();
    if (inner.name().ends_with("Setting")) {
      places->push_back({*steps});
    } else {
      walk(inner, steps, places);
    }
    steps->pop_back();
  }
}

}  // namespace

std::string LeafPlace::path() const {
  std::string path;
  for (const auto* step : steps) path += (path.empty() ? "" : ".") + step->name();
  return path;
}

pb::Message* LeafPlace::make_in(pb::Message* settings) const {
  for (const auto* step : steps) {
    settings = settings->GetReflection()->MutableMessage(settings, step);
  }
  return settings;
}

const pb::Message* LeafPlace::find_in(const pb::Message& settings) const {
  const pb::Message* found = &settings;
  for (const auto* step : steps) {
    if (!found->GetReflection()->HasField(*found, step)) return nullptr;
    found = &found->GetReflection()->GetMessage(*found, step);
  }
  return found;
}

std::vector<LeafPlace> all_leaf_places() {
  std::vector<LeafPlace> places;
  std::vector<const pb::FieldDescriptor*> steps;
  walk(*flyteidl2::settings::Settings::descriptor(), &steps, &places);
  return places;
}

void fill_leaf(pb::Message* leaf, int state, const std::string& token) {
  const pb::Reflection* reflection = leaf->GetReflection();
  const pb::Descriptor& type = *leaf->GetDescriptor();
  reflection->SetEnumValue(leaf, type.FindFieldByName("state"), state);
  reflection->SetEnumValue(leaf, type.FindFieldByName("scope_level"),
                           flyteidl2::settings::SCOPE_LEVEL_PROJECT);
  if (token.empty()) return;
  const pb::FieldDescriptor* value = type.FindFieldByNumber(2);
  switch (value->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return reflection->SetString(leaf, value, token);
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return reflection->SetInt64(leaf, value, static_cast<std::int64_t>(token.back()));
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return reflection->SetBool(leaf, value, token.back() % 2 == 0);
    default:
      break;
  }
  pb::Message* inner = reflection->MutableMessage(leaf, value);
  if (auto* map = dynamic_cast<flyteidl2::settings::StringMap*>(inner)) {
    (*map->mutable_entries())["all"] = token;
    (*map->mutable_entries())["only " + token] = token;
  } else {
    auto* accelerator = dynamic_cast<flyteidl2::core::GPUAccelerator*>(inner);
    accelerator->set_device(token);
    // Members that not every level sets: a mix of two levels would show.
    if (token.back() % 2 == 0) accelerator->set_partition_size(token);
    if (token.back() % 2 == 1) accelerator->set_unpartitioned(true);
  }
}

}  // namespace writ
