#include "tools/client/setting.h"

#include <google/protobuf/wrappers.pb.h>

#include <algorithm>

#include "schema/near_miss.h"
#include "schema/protojson.h"
#include "schema/quote.h"
#include "tools/client/api.h"

namespace writ::client {
namespace {

namespace pb = google::protobuf;
namespace fs = flyteidl2::settings;

void add_settings(const pb::Descriptor& type, const Setting& group, std::vector<Setting>* all) {
  for (const pb::FieldDescriptor* field : fields_by_number(type)) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    Setting setting = group;
    setting.path += (group.path.empty() ? "" : ".") + field->name();
    setting.steps.push_back(field);
    if (const auto shape = leaf_shape(*field->message_type())) {
      setting.shape = *shape;
      all->push_back(std::move(setting));
    } else {
      add_settings(*field->message_type(), setting, all);
    }
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The entry that `path` names once its map's name is mended: `labels.x` for `labls.x`. Empty when
/// it has nothing behind a name, or none that is near.
std::string mended_entry(const std::string& path, const std::string& map) {
  std::size_t end = 0;
  for (auto dots = std::ranges::count(map, '.'); dots > 0 && end != std::string::npos; --dots)
    end = path.find('.', end) + 1;
  end = path.find_first_of(".[", end);
  if (end == std::string::npos || nearest_name(path.substr(0, end), {map}).empty()) return "";
  return map + path.substr(end);
}

/// The key in `labels["team"]` or `labels.team` behind the map's own path.
std::optional<std::string> entry_of(std::string_view path, const std::string& map) {
  if (!path.starts_with(map) || path.size() <= map.size() + 1) return std::nullopt;
  const std::string_view rest = path.substr(map.size());
  if (rest.front() == '.') return std::string(rest.substr(1));
  if (!rest.starts_with("[\"") || !rest.ends_with("\"]")) return std::nullopt;
  pb::StringValue key;
  if (read_json(rest.substr(1, rest.size() - 2), &key, JsonMode::kStored).error)
    return std::nullopt;
  return key.value();
}

}  // namespace

std::string Setting::description() const { return steps.back()->options().GetExtension(fs::desc); }

const pb::Message* Setting::find_in(const fs::Settings& settings) const {
  const pb::Message* message = &settings;
  for (const pb::FieldDescriptor* step : steps) {
    if (!message->GetReflection()->HasField(*message, step)) return nullptr;
    message = &message->GetReflection()->GetMessage(*message, step);
  }
  return message;
}

pb::Message* Setting::make_in(fs::Settings* settings) const {
  pb::Message* message = settings;
  for (const pb::FieldDescriptor* step : steps)
    message = message->GetReflection()->MutableMessage(message, step);
  return message;
}

void Setting::clear_in(fs::Settings* settings) const {
  if (find_in(*settings) == nullptr) return;
  pb::Message* message = settings;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i)
    message = message->GetReflection()->MutableMessage(message, steps[i]);
  message->GetReflection()->ClearField(message, steps.back());
}

fs::SettingState Setting::state_in(const fs::Settings& settings) const {
  const pb::Message* leaf = find_in(settings);
  return leaf == nullptr ? fs::SETTING_STATE_INHERIT
                         : static_cast<fs::SettingState>(leaf_state(*leaf, shape));
}

const fs::StringMap* Setting::map_in(const fs::Settings& settings) const {
  if (!shape.is_string_map() || state_in(settings) != fs::SETTING_STATE_VALUE) return nullptr;
  const pb::Message* leaf = find_in(settings);
  return &static_cast<const fs::StringMap&>(leaf->GetReflection()->GetMessage(*leaf, shape.value));
}

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> settings = [] {
    std::vector<Setting> all;
    add_settings(*fs::Settings::descriptor(), {}, &all);
    return all;
  }();
  return settings;
}

const Setting* find_setting(const std::string& path) {
  const auto found = std::ranges::find(all_settings(), path, &Setting::path);
  return found == all_settings().end() ? nullptr : &*found;
}

std::string Place::path() const {
  return entry ? setting->path + "[" + quote(*entry) + "]" : setting->path;
}

std::vector<std::string> near_paths(const std::string& path) {
  std::vector<std::string> names, near;
  for (const Setting& setting : all_settings()) {
    names.push_back(setting.path);
    if (!setting.shape.is_string_map() || near.size() == 3) continue;
    if (std::string entry = mended_entry(path, setting.path); !entry.empty())
      near.push_back(std::move(entry));
  }
  // The last word alone is what people remember: `cpu` is in two groups.
  for (const std::string& name : names)
    if (near.size() < 3 && name.ends_with("." + path)) near.push_back(name);
  while (near.size() < 3) {
    std::erase_if(names, [&](const std::string& name) {
      return std::ranges::find(near, name) != near.end();
    });
    const std::string one = nearest_name(path, names);
    if (one.empty()) break;
    near.push_back(one);
  }
  return near;
}

std::string no_such_setting(const std::string& path) {
  const std::vector<std::string> near = near_paths(path);
  return "there is no setting " + quote(path) +
         (near.empty() ? "" : " (did you mean " + joined(near) + "?)");
}

Place find_place(const std::string& path) {
  if (const Setting* setting = find_setting(path)) return {setting, std::nullopt};
  std::vector<std::string> inside;
  for (const Setting& setting : all_settings()) {
    if (setting.path.starts_with(path + ".")) inside.push_back(setting.path);
    if (!setting.shape.is_string_map()) continue;
    if (auto entry = entry_of(path, setting.path)) return {&setting, std::move(entry)};
  }
  if (!inside.empty())
    throw UsageError(quote(path) + " is a group of settings; name one of " + joined(inside));
  throw UsageError(no_such_setting(path));
}

}  // namespace writ::client
