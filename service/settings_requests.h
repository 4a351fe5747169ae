#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "events/sequencer.h"
#include "schema/scope.h"
#include "schema/validate.h"
#include "service/connect.h"
#include "service/settings_commands.h"

namespace writ {

/// Throws invalid_argument with the first violation as its message and all of them as BadRequest.
[[noreturn]] void throw_violations(const std::vector<Violation>& violations);

/// The same, when there are any.
void refuse(const std::vector<Violation>& violations);

/// The scope that a request names, which is left for the log. Throws ConnectError when its key is
/// missing or malformed.
ScopeKey checked_key(const RequestContext& context, const flyteidl2::settings::SettingsKey* key);

/// The key of a request, null when it has none.
template <typename Request>
const flyteidl2::settings::SettingsKey* key_of(const Request& request) {
  return request.has_key() ? &request.key() : nullptr;
}

/// The version that a request expects; one beyond the log's range is one that no record has.
StreamVersion expected_version(std::uint64_t version);

/// Throws invalid_argument when a change needs a reason and has none. For every path that changes
/// anything.
void check_reason(const RequestContext& context);

/// What tells a command from others under the same idempotency key: `what` is all that it says
/// beside its method, record and expected version.
std::string command_fingerprint(std::string_view method, const ScopeKey& key,
                                StreamVersion expected, std::string_view what);

/// Sends a validated command through the sequencer in the name of the caller. `fingerprint` is only
/// looked at when the caller has sent an idempotency key. Throws ConnectError when it is rejected,
/// and what Sequencer::submit throws.
Accepted submit_settings(Sequencer& sequencer, const RequestContext& context,
                         SettingsCommand settings, std::string fingerprint);

}  // namespace writ
