#include "schema/scope.h"

#include <stdexcept>

#include "flyteidl2/settings/settings_definition.pb.h"

namespace writ {

Scope ScopeKey::scope() const {
  if (!project.empty()) return Scope::kProject;
  return domain.empty() ? Scope::kInstance : Scope::kDomain;
}

std::string ScopeKey::storage_key() const { return "v1::" + domain + ":" + project; }

std::vector<ScopeKey> ScopeKey::levels() const {
  std::vector<ScopeKey> chain{ScopeKey{}};
  if (scope() >= Scope::kDomain) chain.push_back({domain, ""});
  if (scope() == Scope::kProject) chain.push_back(*this);
  return chain;
}

ScopeKey parse_storage_key(std::string_view text) {
  constexpr std::string_view kPrefix = "v1::";
  const std::size_t colon = text.rfind(':');
  if (!text.starts_with(kPrefix) || colon < kPrefix.size())
    throw std::invalid_argument("not a storage key: " + std::string(text));
  return {std::string(text.substr(kPrefix.size(), colon - kPrefix.size())),
          std::string(text.substr(colon + 1))};
}

flyteidl2::settings::SettingsKey settings_key(const ScopeKey& scope, const std::string& org) {
  flyteidl2::settings::SettingsKey key;
  key.set_org(org);
  key.set_domain(scope.domain);
  key.set_project(scope.project);
  return key;
}

ScopeKey scope_key(const flyteidl2::settings::SettingsKey& key) {
  return {key.domain(), key.project()};
}

}  // namespace writ
