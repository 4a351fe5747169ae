#include "tools/client/scope_name.h"

#include "tools/client/printable.h"

namespace writ::client {

namespace fs = flyteidl2::settings;

std::string scope_name(const fs::SettingsKey& key) {
  if (key.domain().empty()) return "instance";
  return printable(key.project().empty() ? key.domain() : key.domain() + "/" + key.project());
}

std::string scope_name(const fs::SettingsKey& key, fs::ScopeLevel level) {
  fs::SettingsKey cut = key;
  if (level < fs::SCOPE_LEVEL_PROJECT) cut.clear_project();
  if (level < fs::SCOPE_LEVEL_DOMAIN) cut.clear_domain();
  return scope_name(cut);
}

}  // namespace writ::client
