#include "service/caller.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "flyteidl2/settings/settings_service.pb.h"
#include "schema/validate.h"

namespace writ {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"viewer", "auditor", "editor", "admin"};

}  // namespace

std::string_view role_name(Role role) { return kRoles.at(static_cast<std::size_t>(role)); }

std::optional<Role> parse_role(std::string_view name) {
  const auto found = std::find(kRoles.begin(), kRoles.end(), name);
  if (found == kRoles.end()) return std::nullopt;
  return static_cast<Role>(found - kRoles.begin());
}

RoleScope RoleScope::parse(std::string_view text) {
  if (text == "*") return everywhere();
  const std::size_t slash = std::min(text.find('/'), text.size());
  ScopeKey key{std::string(text.substr(0, slash)), ""};
  if (slash < text.size()) key.project = text.substr(slash + 1);
  const bool complete = !key.domain.empty() && (slash == text.size() || !key.project.empty());
  const flyteidl2::settings::SettingsKey named = settings_key(key, "");
  const auto violations = validate_key(&named);
  if (complete && violations.empty()) return RoleScope(std::move(key));
  throw std::invalid_argument("\"" + std::string(text) +
                              "\" is no scope: it is *, a domain, or domain/project" +
                              (complete ? "; " + violations.front().message : ""));
}

bool RoleScope::covers(const ScopeKey& key) const {
  if (!key_.domain.empty() && key_.domain != key.domain) return false;
  return key_.project.empty() || key_.project == key.project;
}

std::string RoleScope::text() const { return scope_text(key_); }

bool Caller::may(Role needed, const ScopeKey& key) const {
  return role >= needed && std::any_of(scopes.begin(), scopes.end(),
                                       [&](const RoleScope& held) { return held.covers(key); });
}

Caller anonymous_caller() { return {"anonymous", Role::kAdmin, {RoleScope::everywhere()}}; }

std::string scope_text(const ScopeKey& key) {
  if (key.domain.empty()) return "*";
  return key.project.empty() ? key.domain : key.domain + "/" + key.project;
}

}  // namespace writ
