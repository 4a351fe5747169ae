#include "tools/client/settings_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "schema/utf8.h"
#include "service/json_text.h"
#include "tools/client/printable.h"
#include "tools/client/setting.h"
#include "tools/client/setting_value.h"
#include "tools/client/yaml_text.h"

namespace writ::client {
namespace {

namespace fs = flyteidl2::settings;
using fs::SettingsRecord;

constexpr char kErrorMark[] = "### !!";

/// What the scopes above say of one setting.
struct Above {
  const SettingsRecord* last = nullptr;  // the nearest that says anything
  struct Entry {
    std::string value;
    const SettingsRecord* from;
  };
  std::map<std::string, Entry> entries;  // of a map, in effect
};

Above look_above(const Setting& setting, const std::vector<SettingsRecord>& levels) {
  Above above;
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    const fs::SettingState state = setting.state_in(levels[i].settings());
    if (state == fs::SETTING_STATE_INHERIT) continue;
    above.last = &levels[i];
    if (state == fs::SETTING_STATE_UNSET) above.entries.clear();
    if (const fs::StringMap* map = setting.map_in(levels[i].settings()))
      for (const auto& [key, value] : map->entries()) above.entries[key] = {value, &levels[i]};
  }
  return above;
}

std::string value_at(const Setting& setting, const SettingsRecord& level) {
  return yaml_value(setting, *setting.find_in(level.settings()));
}

std::string entry_line(const std::string& key, const std::string& value) {
  return yaml_string(key) + ": " + yaml_string(value);
}

std::string defined_at(const SettingsRecord& level) {
  return "  ## defined at " + file_scope(level.key()) + "\n";
}

std::string help(const Setting& setting) {
  const std::string text = setting.description();
  return text.empty() ? "" : "## " + text + "\n";
}

std::string overridden_map(const Setting& setting, const fs::StringMap& map, const Above& above) {
  std::string out =
      "## Entries merge over the scopes: those of broader scopes hold unless their "
      "name is given here.\n";
  if (map.entries().empty()) return out + setting.path + ": {}\n";
  out += setting.path + ":\n";
  const std::map<std::string, std::string> own(map.entries().begin(), map.entries().end());
  for (const auto& [key, value] : own) out += "  " + entry_line(key, value) + "\n";
  for (const auto& [key, entry] : above.entries)
    if (!own.contains(key)) out += "  # " + entry_line(key, entry.value) + defined_at(*entry.from);
  return out;
}

std::string overridden(const Setting& setting, const SettingsRecord& own, const Above& above) {
  if (const fs::StringMap* map = setting.map_in(own.settings()))
    return overridden_map(setting, *map, above);
  std::string out = setting.path + ": " + value_at(setting, own) + "\n";
  if (above.last != nullptr &&
      setting.state_in(above.last->settings()) != fs::SETTING_STATE_INHERIT)
    out += "# overridden value: " + value_at(setting, *above.last) + defined_at(*above.last);
  return out;
}

std::string inherited(const Setting& setting, const Above& above) {
  const std::string origin = "  ## inherited from " + file_scope(above.last->key()) + "\n";
  const bool is_map = setting.map_in(above.last->settings()) != nullptr;
  if (!is_map || above.entries.empty())
    return "# " + setting.path + ": " + value_at(setting, *above.last) + origin;
  std::string out = "# " + setting.path + ":" + origin;
  for (const auto& [key, entry] : above.entries) {
    out += "#   " + entry_line(key, entry.value);
    out += entry.from == above.last ? "\n" : defined_at(*entry.from);
  }
  return out;
}

std::string placeholder(const Setting& setting) {
  using Kind = google::protobuf::FieldDescriptor;
  switch (setting.shape.value->cpp_type()) {
    case Kind::CPPTYPE_BOOL:
      return "false";
    case Kind::CPPTYPE_STRING:
    case Kind::CPPTYPE_ENUM:
      return "''";
    case Kind::CPPTYPE_MESSAGE:
      return setting.shape.is_string_map() ? "{}" : "''";
    default:
      return "0";
  }
}

FileError wrong(const YAML::Mark& mark, std::string path, std::string message) {
  return {mark.is_null() ? 0 : mark.line + 1, std::move(path), std::move(message)};
}

/// Whether nothing stands where `mark` is: YAML reads that as null, and so does it the word.
bool is_empty_at(std::string_view text, const YAML::Mark& mark) {
  for (int line = 0; line < mark.line; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  const auto column = static_cast<std::size_t>(mark.column);
  const std::string_view rest = column < text.size() ? text.substr(column) : "";
  return !rest.starts_with('~') && !rest.starts_with("null") && !rest.starts_with("Null") &&
         !rest.starts_with("NULL");
}

/// Reads one member of the file into `settings`.
std::optional<FileError> read_member(std::string_view text, const YAML::Node& key,
                                     const YAML::Node& value, fs::Settings* settings) {
  if (!key.IsScalar()) return wrong(key.Mark(), "", "the name of a setting must be a text");
  const std::string& path = key.Scalar();
  const Setting* setting = find_setting(path);
  if (setting == nullptr) {
    bool group = false;
    for (const Setting& one : all_settings()) group |= one.path.starts_with(path + ".");
    return wrong(
        key.Mark(), path,
        group ? "is a group; write each setting with its whole path, as in `" + path + ".…: value`"
              : no_such_setting(path));
  }
  if (setting->find_in(*settings) != nullptr)
    return wrong(key.Mark(), path, "is there twice; only one can hold");
  try {
    const bool empty = value.IsNull() && is_empty_at(text, value.Mark());
    set_from_yaml(*setting, value, empty, setting->make_in(settings));
  } catch (const ValueError& e) {
    return wrong(key.Mark(), path, e.what());
  }
  return std::nullopt;
}

}  // namespace

std::string file_scope(const fs::SettingsKey& key) {
  if (!key.project().empty()) return "PROJECT(" + key.domain() + "/" + key.project() + ")";
  return key.domain().empty() ? "ORG" : "DOMAIN(" + key.domain() + ")";
}

std::string write_settings_file(const std::vector<SettingsRecord>& levels) {
  const SettingsRecord& own = levels.back();
  std::string overrides, inheritance, available;
  for (const Setting& setting : all_settings()) {
    const Above above = look_above(setting, levels);
    if (setting.state_in(own.settings()) != fs::SETTING_STATE_INHERIT)
      overrides += help(setting) + overridden(setting, own, above);
    else if (above.last != nullptr)
      inheritance += help(setting) + inherited(setting, above);
    else
      available += help(setting) + "# " + setting.path + ": " + placeholder(setting) + "\n";
  }
  std::string out = "### Settings for scope: " + file_scope(own.key()) + "\n";
  out +=
      "## A line that is removed, or made a comment, is inherited from the broader scope.\n"
      "## The value ~unset takes back what a broader scope says.\n";
  if (!overrides.empty()) out += "\n### Local overrides\n" + overrides;
  if (!inheritance.empty())
    out += "\n### Inherited settings (remove the # to override them at this scope)\n" + inheritance;
  if (!available.empty())
    out +=
        "\n### Available settings (remove the # and edit to set them at this scope)\n" + available;
  return out;
}

std::string FileError::text(int first_line) const {
  std::string out;
  if (line > 0) out += "line " + std::to_string(line + first_line - 1) + ": ";
  if (!path.empty()) out += printable(path) + ": ";
  return out + message;
}

namespace {

/// The reader takes the end of the file for that of an open quotation, and with it the settings in
/// between: a line that begins like a setting must be one.
std::optional<FileError> find_swallowed_line(std::string_view text, const YAML::Node& settings) {
  std::set<int> keys;
  for (const auto& member : settings) keys.insert(member.first.Mark().line);
  std::size_t begin = 0;
  for (int line = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view one = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t name = one.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.");
    if (name == 0 || name >= one.size() || one[name] != ':' || keys.contains(line)) continue;
    YAML::Mark mark;
    mark.line = line;
    return wrong(mark, "", "this line is inside a quoted text that begins above: a quote is open");
  }
  // Nor may the last one run to the end of the file.
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  for (const auto& member : settings) {
    const YAML::Node& value = member.second;
    if (!value.IsScalar() || value.Mark().pos < 0) continue;
    const auto at = static_cast<std::size_t>(value.Mark().pos);
    if (at >= text.size() || (text[at] != '"' && text[at] != '\'') || last == text.npos) continue;
    const bool to_the_end = text.find(text[at], at + 1) == text.npos;
    if (to_the_end) return wrong(value.Mark(), member.first.Scalar(), "its quote is not closed");
  }
  return std::nullopt;
}

}  // namespace

std::variant<fs::Settings, FileError> read_settings_file(std::string_view text) {
  if (!is_utf8(text)) return FileError{0, "", "the file is not UTF-8"};
  fs::Settings settings;
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1)
      return wrong(documents[1].Mark(), "",
                   "a second document (`---`) begins here; only one can hold");
    if (documents.empty() || documents[0].IsNull()) return settings;
    if (!documents[0].IsMap())
      return wrong(documents[0].Mark(), "", "the file must be lines of `path: value`");
    if (auto error = find_swallowed_line(text, documents[0])) return *error;
    for (const auto& member : documents[0])
      if (auto error = read_member(text, member.first, member.second, &settings)) return *error;
  } catch (const YAML::Exception& e) {
    return wrong(e.mark, "", "this is no YAML: " + e.msg);
  }
  return settings;
}

std::string with_error(const FileError& error, const std::string& text) {
  std::string out = kErrorMark;
  out += " " + error.text(kErrorLines + 1) + "\n";
  out += kErrorMark;
  out += " Mend it and save; to give up, close the editor without a change.\n";
  return out + text;
}

std::string without_error(const std::string& text) {
  std::string_view rest = text;
  while (rest.starts_with(kErrorMark)) {
    const std::size_t end = rest.find('\n');
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return std::string(rest);
}

}  // namespace writ::client
