#pragma once

#include <string>

#include "flyteidl2/settings/settings_definition.pb.h"

namespace writ::client {

/// A scope as people say it: `instance`, `production`, `production/analytics`.
std::string scope_name(const flyteidl2::settings::SettingsKey& key);

/// The scope at `level` of the chain that ends at `key`.
std::string scope_name(const flyteidl2::settings::SettingsKey& key,
                       flyteidl2::settings::ScopeLevel level);

}  // namespace writ::client
