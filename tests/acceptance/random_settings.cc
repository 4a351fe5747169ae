#include "tests/acceptance/random_settings.h"

#include <cstdlib>

#include "tests/acceptance/settings_model.h"

namespace writ::test {
namespace {

Json& place(Json& settings, const std::string& path) {
  Json* at = &settings;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    at = &(*at)[path.substr(begin, end - begin)];
    begin = end + 1;
  }
  return *at;
}

}  // namespace

Json RandomSettings::entries() {
  const char* const kKeys[] = {"A", "B", "C", "D_1", "e.x"};
  const char* const kValues[] = {"", "1", "two", "z-9"};
  Json out = Json::object();
  for (int i = number(4); i > 0; --i) out[pick(kKeys)] = pick(kValues);
  return out;
}

Json RandomSettings::accelerator() {
  const char* const kDevices[] = {"nvidia-h100", "nvidia-a100", "google-tpu-v5e"};
  Json out = Json::object({{"device", pick(kDevices)}});
  switch (number(4)) {
    case 0:
      out["unpartitioned"] = Json::boolean(chance(50));
      break;
    case 1:
      out["partitionSize"] = chance(80) ? "1g.5gb" : "";
      break;
    default:
      break;
  }
  if (chance(30)) out["deviceClass"] = "GOOGLE_TPU";
  if (chance(30)) out["acceleratorModel"] = "NVIDIA_H100";
  return out;
}

Json RandomSettings::value(const std::string& path, const std::string& member) {
  if (member == "mapValue") {
    Json map = Json::object();
    if (chance(85)) map["entries"] = entries();
    return map;
  }
  if (member == "acceleratorValue") return accelerator();
  if (member == "boolValue") return Json::boolean(chance(50));
  if (member == "intValue") {
    const char* const kNumbers[] = {"0", "2", "17", "4294967295"};
    const std::string digits = pick(kNumbers);
    return chance(50) ? Json(digits) : Json::number(digits);
  }
  if (member == "quantityValue") {
    // Every minimum is below every maximum.
    const char* const kLow[] = {"0", "500m", "1", "0.5", "1e0", "100u", ".25"};
    const char* const kHigh[] = {"2", "4Gi", "1e3", "2000m", "1.5k", "3E", "1024Ki"};
    return path.find(".min.") != std::string::npos ? pick(kLow) : pick(kHigh);
  }
  const char* const kTexts[] = {"", "a", "b-1", "long.name.example"};
  const char* const kAnyTexts[] = {"", "0", "false", "s3://bucket/x y", "\"quoted\"\n", "größe"};
  const bool syntax = path == "security.serviceAccount" || path == "podTemplateName";
  return syntax ? pick(kTexts) : pick(kAnyTexts);
}

Json RandomSettings::leaf(const std::string& path, const std::string& member) {
  Json out = Json::object();
  const int kind = number(10);
  if (kind == 0) return out;
  if (kind == 1) {
    out["state"] = chance(50) ? Json("SETTING_STATE_INHERIT") : Json::number(0);
  } else if (kind == 2) {
    out["state"] = Json();
  } else if (kind < 5) {
    out["state"] = chance(50) ? Json("SETTING_STATE_UNSET") : Json::number(1);
  } else {
    out["state"] = chance(50) ? Json("SETTING_STATE_VALUE") : Json::number(2);
  }
  // An accelerator and a quantity need a value, others may leave it at its default.
  const bool needs = kind >= 5 && (member == "acceleratorValue" || member == "quantityValue");
  if (needs || chance(80)) out[member] = value(path, member);
  if (chance(20)) out["scopeLevel"] = chance(50) ? "SCOPE_LEVEL_PROJECT" : "SCOPE_LEVEL_DOMAIN";
  return out;
}

Json RandomSettings::settings() {
  Json out = Json::object();
  if (chance(5)) return out;
  const int density = chance(20) ? 90 : 25;
  for (const auto& [path, member] : all_leaves())
    if (chance(density)) place(out, path) = leaf(path, member);
  if (chance(10)) out["storage"];
  if (Json* group = out.find("storage"); group != nullptr && group->kind() == Json::Kind::kNull)
    *group = chance(50) ? Json::object() : Json();
  return out;
}

Json RandomSettings::key() {
  const std::pair<const char*, const char*> kScopes[] = {{"", ""},
                                                         {"production", ""},
                                                         {"staging", ""},
                                                         {"production", "analytics"},
                                                         {"production", "search"},
                                                         {"staging", "analytics"}};
  const auto [domain, project] = pick(kScopes);
  Json key = Json::object();
  if (chance(50)) key["org"] = chance(80) ? "acme" : "";
  if (*domain != '\0' || chance(20)) key["domain"] = domain;
  if (*project != '\0' || chance(20)) key["project"] = project;
  return key;
}

std::optional<std::uint64_t> seed_from_environment() {
  const char* text = std::getenv("WRIT_SEED");
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

}  // namespace writ::test
