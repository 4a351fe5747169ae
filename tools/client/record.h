#pragma once

#include <string>
#include <vector>

#include "flyteidl2/settings/settings_service.pb.h"
#include "tools/client/api.h"

namespace writ::client {

/// The chain of records above and at a scope, broadest first; the last is its own, with version 0
/// when there is none.
std::vector<flyteidl2::settings::SettingsRecord> read_levels(
    Api& api, const flyteidl2::settings::SettingsKey& key);

/// Replaces the scope's record, which must still be at `version`; 0 makes the first one. Throws
/// Refused, with `is_conflict` when it is not.
flyteidl2::settings::SettingsRecord write_record(Api& api,
                                                 const flyteidl2::settings::SettingsKey& key,
                                                 const flyteidl2::settings::Settings& settings,
                                                 std::uint64_t version);

/// Who last changed this setting of a scope, or, without a path, anything of it, and when: `changed
/// by … 3 s ago …`, for a message. Knows less where the caller may not read the history.
std::string last_change(Api& api, const flyteidl2::settings::SettingsKey& key,
                        const std::string& path, const Refusal& refusal);

}  // namespace writ::client
