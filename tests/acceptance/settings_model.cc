#include "tests/acceptance/settings_model.h"

#include <algorithm>
#include <functional>

namespace writ::test {
namespace {

using Answer = SettingsModel::Answer;

const std::string kValue = "SETTING_STATE_VALUE";
const std::string kUnset = "SETTING_STATE_UNSET";

/// A state in any of the spellings that JSON allows.
std::string state_of(const Json& leaf) {
  const Json* state = leaf.find("state");
  if (state == nullptr || state->kind() == Json::Kind::kNull) return "";
  if (state->text() == "2" || state->text() == kValue) return kValue;
  if (state->text() == "1" || state->text() == kUnset) return kUnset;
  return "";
}

bool is_default(const std::string& member, const std::string& text) {
  if (member == "intValue") return text == "0";
  if (member == "boolValue") return text == "false";
  return text.empty();
}

Json sorted(Json object) {
  std::sort(object.members().begin(), object.members().end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return object;
}

/// The value as the stable form shows it; null when it is left out.
Json canonical_value(const std::string& member, const Json& value) {
  if (member == "mapValue") {
    const Json* entries = value.find("entries");
    if (entries == nullptr || entries->members().empty()) return {};
    return Json::object({{"entries", sorted(*entries)}});
  }
  if (value.is_object()) return value.members().empty() ? Json() : value;
  if (is_default(member, value.text())) return {};
  // 64-bit integers are strings, however they were sent.
  return member == "intValue" ? Json(value.text()) : value;
}

Json pruned_leaf(const Json& leaf, const std::string& member) {
  const std::string state = state_of(leaf);
  if (state.empty()) return {};
  Json out = Json::object({{"state", state}});
  const Json* value = leaf.find(member);
  if (state == kUnset || value == nullptr) return out;
  Json canonical = canonical_value(member, *value);
  if (canonical.kind() != Json::Kind::kNull) out[member] = std::move(canonical);
  return out;
}

Json pruned_group(const Json& group, const std::string& path) {
  Json out = Json::object();
  for (const auto& [name, child] : group.members()) {
    const std::string inner = path.empty() ? name : path + "." + name;
    const std::string member = value_member(inner);
    Json kept = member.empty() ? pruned_group(child, inner) : pruned_leaf(child, member);
    if (kept.is_object() && !kept.members().empty()) out[name] = std::move(kept);
  }
  return out;
}

const Json* find_path(const Json& settings, const std::string& path) {
  const Json* at = &settings;
  for (std::size_t begin = 0; at != nullptr && begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    at = at->find(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return at;
}

Json& make_path(Json& settings, const std::string& path) {
  Json* at = &settings;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    at = &(*at)[path.substr(begin, end - begin)];
    begin = end + 1;
  }
  return *at;
}

/// Lays the leaf of a narrower scope over what the broader ones said.
void lay_over(const Json& leaf, bool is_map, Json& gathered) {
  const Json* below = gathered.find("mapValue");
  const bool joins = is_map && below != nullptr && leaf.at("state").text() == kValue;
  Json entries = joins ? below->at("entries") : Json::object();
  gathered = leaf;
  if (!joins) return;
  if (const Json* own = leaf.find("mapValue"))
    for (const auto& [key, value] : own->at("entries").members()) entries[key] = value;
  gathered["mapValue"]["entries"] = sorted(entries);
}

Json key_of(const Json& request) { return request.at("key"); }

std::string text_in(const Json& key, const char* name) {
  const Json* found = key.find(name);
  return found == nullptr ? "" : found->text();
}

/// The keys of the chain, broadest first.
std::vector<Json> chain(const Json& key) {
  Json at = Json::object();
  const auto add = [&](const char* name) {
    const std::string text = text_in(key, name);
    if (!text.empty()) at[name] = text;
    return !text.empty();
  };
  add("org");
  std::vector<Json> keys{at};
  if (add("domain")) keys.push_back(at);
  if (add("project")) keys.push_back(at);
  return keys;
}

Json without_empty(const Json& key) {
  Json out = Json::object();
  for (const auto& [name, value] : key.members())
    if (!value.text().empty()) out[name] = value;
  return out;
}

}  // namespace

const std::vector<std::pair<std::string, std::string>>& all_leaves() {
  static const std::vector<std::pair<std::string, std::string>> leaves = {
      {"run.defaultQueue", "stringValue"},
      {"run.maxActionConcurrency", "intValue"},
      {"run.runBaseDir", "stringValue"},
      {"security.serviceAccount", "stringValue"},
      {"storage.rawDataPath", "stringValue"},
      {"taskResource.min.cpu", "quantityValue"},
      {"taskResource.min.gpu", "quantityValue"},
      {"taskResource.min.memory", "quantityValue"},
      {"taskResource.min.storage", "quantityValue"},
      {"taskResource.max.cpu", "quantityValue"},
      {"taskResource.max.gpu", "quantityValue"},
      {"taskResource.max.memory", "quantityValue"},
      {"taskResource.max.storage", "quantityValue"},
      {"taskResource.mirrorLimitsRequest", "boolValue"},
      {"taskResource.defaultAccelerator", "acceleratorValue"},
      {"labels", "mapValue"},
      {"annotations", "mapValue"},
      {"environmentVariables", "mapValue"},
      {"app.disallowAnonymous", "boolValue"},
      {"podTemplateName", "stringValue"},
  };
  return leaves;
}

std::string value_member(const std::string& path) {
  for (const auto& [leaf, member] : all_leaves())
    if (leaf == path) return member;
  return "";
}

Json pruned(const Json& settings) { return pruned_group(settings, ""); }

Json merged(const std::vector<const Json*>& levels) {
  const char* const kScopes[] = {"", "SCOPE_LEVEL_DOMAIN", "SCOPE_LEVEL_PROJECT"};
  Json out = Json::object();
  for (const auto& [path, member] : all_leaves()) {
    for (std::size_t level = 0; level < levels.size(); ++level) {
      const Json* leaf = levels[level] == nullptr ? nullptr : find_path(*levels[level], path);
      if (leaf == nullptr) continue;
      Json& gathered = make_path(out, path);
      lay_over(*leaf, member == "mapValue", gathered);
      if (level > 0) gathered["scopeLevel"] = kScopes[level];
    }
  }
  return out;
}

std::string storage_key(const Json& key) {
  return "v1::" + text_in(key, "domain") + ":" + text_in(key, "project");
}

const SettingsModel::Record* SettingsModel::find(const std::string& storage_key) const {
  const auto found = records_.find(storage_key);
  return found == records_.end() ? nullptr : &found->second;
}

long SettingsModel::version(const std::string& storage_key) const {
  const Record* record = find(storage_key);
  return record == nullptr ? 0 : record->version;
}

Answer SettingsModel::write(const Json& request, Record& record) {
  record.settings = pruned(request.at("settings"));
  ++record.version;
  ++events_;
  if (record.version == 1) record.id = events_;
  Json body = Json::object();
  body["settingsRecord"]["key"] = without_empty(key_of(request));
  body["settingsRecord"]["settings"] = record.settings;
  body["settingsRecord"]["version"] = std::to_string(record.version);
  return {"", "", body};
}

Answer SettingsModel::create(const Json& request) {
  const std::string key = storage_key(key_of(request));
  if (find(key) != nullptr) return {"already_exists", "settings already exists: " + key, {}};
  return write(request, records_[key]);
}

Answer SettingsModel::update(const Json& request) {
  const std::string key = storage_key(key_of(request));
  const Record* record = find(key);
  if (record == nullptr) return {"not_found", "settings not found: " + key, {}};
  if (std::to_string(record->version) != request.at("version").text())
    return {"failed_precondition", "settings version conflict: " + key, {}};
  return write(request, records_[key]);
}

Answer SettingsModel::get(const Json& request) const {
  std::vector<const Json*> levels;
  for (const Json& key : chain(key_of(request))) {
    const Record* record = find(storage_key(key));
    levels.push_back(record == nullptr ? nullptr : &record->settings);
  }
  Json body = Json::object();
  body["settingsRecord"]["key"] = without_empty(key_of(request));
  body["settingsRecord"]["settings"] = merged(levels);
  return {"", "", body};
}

Answer SettingsModel::get_for_edit(const Json& request) const {
  Json body = Json::object();
  body["requestedKey"] = without_empty(key_of(request));
  Json levels = Json::array();
  for (const Json& key : chain(key_of(request))) {
    Json level = Json::object({{"key", key}, {"settings", Json::object()}});
    if (const Record* record = find(storage_key(key))) {
      level["settings"] = record->settings;
      level["version"] = std::to_string(record->version);
    }
    levels.elements().push_back(std::move(level));
  }
  body["levels"] = std::move(levels);
  return {"", "", body};
}

Json SettingsModel::rows() const {
  std::map<long, Json> by_id;
  for (const auto& [key, record] : records_)
    by_id[record.id] = Json::object(
        {{"key", key}, {"data", record.settings}, {"version", Json::number(record.version)}});
  Json rows = Json::array();
  for (auto& [id, row] : by_id) rows.elements().push_back(std::move(row));
  return rows;
}

}  // namespace writ::test
