#pragma once

#include <map>
#include <optional>
#include <string>

#include "events/domain.h"
#include "schema/scope.h"

namespace writ {

/// A write to one record, validated and pruned: the body of a settings command.
struct SettingsCommand {
  enum class Kind { kCreate, kUpdate };
  Kind kind;
  ScopeKey key;
  std::string payload;                             ///< The pruned settings in the stable JSON form.
  StreamVersion expected;                          ///< Of an update: the version it was made from.
  std::map<std::string, std::string> detail = {};  ///< Of the event, e.g. `reverted_to`.
};

/// Why a settings command is refused.
struct SettingsRejected {
  enum class Kind { kNotFound, kAlreadyExists, kVersionConflict };
  Kind kind;
  std::optional<StreamState> current;  ///< The newest event of the record, when there is one.
};

/// The stream of the record of `key`.
StreamName settings_stream(const ScopeKey& key);

/// The name under which the settings domain is registered.
inline constexpr char kSettingsDomain[] = "settings";

/// Decides settings commands and keeps the settings projection.
Domain settings_domain();

}  // namespace writ
