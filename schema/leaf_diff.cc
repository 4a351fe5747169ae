#include "schema/leaf_diff.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "schema/leaf.h"
#include "schema/near_miss.h"
#include "schema/protojson.h"
#include "schema/quote.h"

namespace writ {
namespace {

namespace pb = google::protobuf;
using audit::v1::LeafChange;
using audit::v1::LeafValue;
using flyteidl2::settings::SETTING_STATE_INHERIT;
using flyteidl2::settings::SETTING_STATE_VALUE;

/// What the JSON form leaves out.
pb::Value default_of(const pb::FieldDescriptor& field) {
  pb::Value value;
  if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_BOOL)
    value.set_bool_value(false);
  else if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE)
    value.mutable_struct_value();
  else
    value.set_string_value(field.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING ? "" : "0");
  return value;
}

LeafValue value_of(const Leaf& leaf) {
  LeafValue out;
  out.set_state(static_cast<flyteidl2::settings::SettingState>(leaf.state()));
  if (!leaf.has_value() || leaf.shape.is_string_map()) return out;
  pb::Struct whole;
  if (read_json(write_json(*leaf.message), &whole, JsonMode::kStored).error)
    throw std::logic_error("a setting has no JSON form: " + leaf.path);
  const auto found = whole.fields().find(leaf.shape.value->json_name());
  *out.mutable_value() =
      found != whole.fields().end() ? found->second : default_of(*leaf.shape.value);
  return out;
}

void add_entries(const Leaf& leaf, std::vector<LeafEntry>& out) {
  const auto& map = static_cast<const flyteidl2::settings::StringMap&>(
      leaf.message->GetReflection()->GetMessage(*leaf.message, leaf.shape.value));
  // A protobuf map has no order.
  for (const auto& [key, value] :
       std::map<std::string, std::string>(map.entries().begin(), map.entries().end())) {
    LeafEntry& entry = out.emplace_back();
    entry.path = leaf.path + "[" + quote(key) + "]";
    entry.leaf = leaf.path;
    entry.value.set_state(SETTING_STATE_VALUE);
    entry.value.mutable_value()->set_string_value(value);
  }
}

struct Setting {
  std::string path;
  bool is_map;
};

void add_settings(const pb::Descriptor& type, const std::string& prefix,
                  std::vector<Setting>& settings) {
  for (const pb::FieldDescriptor* field : fields_by_number(type)) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    const std::string path = prefix + field->name();
    if (const auto shape = leaf_shape(*field->message_type()))
      settings.push_back({path, shape->is_string_map()});
    else
      add_settings(*field->message_type(), path + ".", settings);
  }
}

/// All settings there are, in the order of the fields.
const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> settings = [] {
    std::vector<Setting> all;
    add_settings(*flyteidl2::settings::Settings::descriptor(), "", all);
    return all;
  }();
  return settings;
}

bool is_below(std::string_view path, std::string_view group) {
  return path.starts_with(group) && path.size() > group.size() &&
         (path[group.size()] == '.' || path[group.size()] == '[');
}

/// How that is written which `path` may have been meant for.
std::string meant(const std::string& path, const std::vector<std::string>& names) {
  std::string a_map;
  for (const Setting& setting : all_settings()) {
    if (!setting.is_map) continue;
    if (a_map.empty()) a_map = setting.path;
    if (!is_below(path, setting.path)) continue;
    const std::string entry = path.substr(setting.path.size() + 1);
    const bool named = path[setting.path.size()] == '.' && !entry.empty();
    return "an entry of this map is written " + setting.path + "[" +
           (named ? quote(entry) : "\"name\"") + "]";
  }
  if (const std::string near = nearest_name(leaf_of_path(path), names); !near.empty())
    return "did you mean " + quote(near) + "?";
  return "it is the path of a setting, the beginning of some up to a dot, or an entry of a map "
         "such as " +
         a_map + "[\"name\"]";
}

}  // namespace

std::vector<LeafEntry> leaf_entries(const flyteidl2::settings::Settings& settings) {
  std::vector<LeafEntry> entries;
  for_each_leaf(settings, [&](const Leaf& leaf) {
    if (leaf.state() == SETTING_STATE_INHERIT) return;
    entries.push_back({leaf.path, leaf.path, value_of(leaf)});
    if (leaf.shape.is_string_map() && leaf.has_value()) add_entries(leaf, entries);
  });
  return entries;
}

std::vector<LeafChange> diff_settings(const flyteidl2::settings::Settings& before,
                                      const flyteidl2::settings::Settings& after) {
  struct Both {
    const LeafValue* before = nullptr;
    const LeafValue* after = nullptr;
  };
  const std::vector<LeafEntry> old_entries = leaf_entries(before);
  const std::vector<LeafEntry> new_entries = leaf_entries(after);
  std::map<std::pair<std::ptrdiff_t, std::string>, Both> all;
  const auto at = [&](const LeafEntry& entry) -> Both& {
    const auto rank =
        std::ranges::find(all_settings(), entry.leaf, &Setting::path) - all_settings().begin();
    return all[{rank, entry.path}];
  };
  for (const LeafEntry& entry : old_entries) at(entry).before = &entry.value;
  for (const LeafEntry& entry : new_entries) at(entry).after = &entry.value;
  std::vector<LeafChange> changes;
  for (const auto& [where, both] : all) {
    if (both.before && both.after &&
        pb::util::MessageDifferencer::Equals(*both.before, *both.after))
      continue;
    LeafChange& change = changes.emplace_back();
    change.set_path(where.second);
    if (both.before) *change.mutable_before() = *both.before;
    if (both.after) *change.mutable_after() = *both.after;
  }
  return changes;
}

std::string_view leaf_of_path(std::string_view path) { return path.substr(0, path.find('[')); }

std::string any_entry(std::string_view leaf) { return std::string(leaf) + "[*]"; }

PathFilter::PathFilter(const std::string& path) : path_(path) {
  if (path.empty()) return;
  const std::string_view leaf = leaf_of_path(path);
  std::vector<std::string> names;
  for (const Setting& setting : all_settings()) {
    for (std::size_t dot = 0; dot != std::string::npos;) {
      dot = setting.path.find('.', dot + 1);
      names.push_back(setting.path.substr(0, dot));
    }
    const bool whole = setting.path == path || is_below(setting.path, path);
    const bool entry = setting.is_map && setting.path == leaf && path.ends_with("\"]");
    if (whole || entry) index_paths_.push_back(whole ? setting.path : path);
    if (whole && setting.is_map) index_paths_.push_back(any_entry(setting.path));
  }
  if (!index_paths_.empty()) return;
  throw std::invalid_argument("invalid path " + quote(path) + ": there is no such setting (" +
                              meant(path, names) + ")");
}

bool PathFilter::matches(std::string_view path) const {
  return path_.empty() || path == path_ || is_below(path, path_);
}

}  // namespace writ
