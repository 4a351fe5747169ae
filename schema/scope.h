#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flyteidl2::settings {
class SettingsKey;
}

namespace writ {

/// The three scopes, broadest first. The numbers are those of `ScopeLevel` on the wire, where the
/// instance is spelled ORG. Frozen.
enum class Scope : std::uint8_t { kInstance = 0, kDomain = 1, kProject = 2 };

/// Names one scope: no domain is the instance, a domain alone is that domain, both are a project.
/// `org` is not part of it: it is echoed to clients and never stored.
struct ScopeKey {
  std::string domain;
  std::string project;

  Scope scope() const;

  /// `v1::{domain}:{project}`, empty segments kept: the instance is `v1:::`. Frozen: it is the key
  /// of stored rows and a part of stream names.
  std::string storage_key() const;

  /// The chain from the instance down to this scope, broadest first: 1, 2 or 3 keys.
  std::vector<ScopeKey> levels() const;

  friend bool operator==(const ScopeKey&, const ScopeKey&) = default;
};

/// The scope whose storage key is `text`. Throws std::invalid_argument for what is none.
ScopeKey parse_storage_key(std::string_view text);

/// The key of the API that names `scope`.
flyteidl2::settings::SettingsKey settings_key(const ScopeKey& scope, const std::string& org);

/// The scope that `key` names. The key must have passed `validate_key`.
ScopeKey scope_key(const flyteidl2::settings::SettingsKey& key);

}  // namespace writ
