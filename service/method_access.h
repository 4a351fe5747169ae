#pragma once

#include <span>
#include <string_view>

#include "service/caller.h"
#include "service/connect.h"

namespace writ {

/// What a method needs of its caller.
struct MethodAccess {
  std::string_view method;  ///< `package.Service.Method`.
  Role role;                ///< Which must be held …
  /// … on the scope of this field of the request, a SettingsKey by its dotted path; on every scope
  /// when the field is absent.
  std::string_view key;
  /// Without a key: on every scope, on any, or what the handler finds out and asks for itself.
  enum class Where { kKey, kEverywhere, kAnywhere, kHandler } where = Where::kKey;
};

/// Each method of every service, once: what is not in this table is not served.
std::span<const MethodAccess> method_access();

/// The check of a method, for RouterOptions::access_to. Throws std::logic_error for a method that
/// is not in the table. The check throws permission_denied, naming the role and the scope that are
/// missing; invalid_argument for a key that names no scope.
AccessCheck access_to(const google::protobuf::MethodDescriptor& method);

/// Throws permission_denied unless the caller holds the role on `key`. The text tells nothing about
/// what is there.
void require_role(const RequestContext& context, Role role, const ScopeKey& key);

/// The same for routes that are no method, on every scope; identifies the caller.
/// `identify` is RouterOptions::identify.
void require_role_everywhere(const std::function<Caller(const HttpRequest&)>& identify,
                             const HttpRequest& request, Role role);

}  // namespace writ
