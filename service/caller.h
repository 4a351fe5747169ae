#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/scope.h"

namespace writ {

/// What somebody may do; each role may also what those before it may. What each method needs is in
/// `method_access.h`.
enum class Role : std::uint8_t {
  kViewer,   ///< Reads settings.
  kAuditor,  ///< Also history and proofs.
  kEditor,   ///< Also writes.
  kAdmin,    ///< Also rebuilds, erases, defines.
};

std::string_view role_name(Role role);
/// The role of that name; nothing when there is none.
std::optional<Role> parse_role(std::string_view name);

/// Where a role is held: everywhere, in a domain or in a project, and in every scope below it.
class RoleScope {
 public:
  static RoleScope everywhere() { return RoleScope({}); }
  /// Reads `*`, `domain` or `domain/project`. Throws std::invalid_argument for anything else.
  static RoleScope parse(std::string_view text);

  /// Whether `key` is this scope or one below it.
  bool covers(const ScopeKey& key) const;
  /// As `parse` reads it.
  std::string text() const;

 private:
  explicit RoleScope(ScopeKey key) : key_(std::move(key)) {}
  ScopeKey key_;
};

/// Who sent a request. By default somebody who may nothing.
struct Caller {
  std::string name;  ///< The actor that the log names.
  Role role = Role::kViewer;
  std::vector<RoleScope> scopes;  ///< Where the role is held; none: nowhere.

  /// Whether the caller holds `needed` on `key`.
  bool may(Role needed, const ScopeKey& key) const;
};

/// Everybody in a run without authentication: `anonymous`, who may everything.
Caller anonymous_caller();

/// `production/analytics`, `production`, or `*` for the instance: how scopes are told to people.
std::string scope_text(const ScopeKey& key);

}  // namespace writ
