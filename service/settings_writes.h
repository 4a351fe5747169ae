#pragma once

#include <string>
#include <vector>

#include "events/sequencer.h"
#include "schema/validate.h"
#include "service/connect.h"
#include "service/settings_commands.h"

namespace writ {

/// Throws invalid_argument with the first violation as its message and all of them as BadRequest.
/// Nothing when there is none.
void refuse(const std::vector<Violation>& violations);

/// Sends a validated command through the sequencer in the name of the caller. `fingerprint` tells
/// it from others under the caller's idempotency key. Throws ConnectError when it is rejected, and
/// what Sequencer::submit throws.
Accepted submit_settings(Sequencer& sequencer, const RequestContext& context,
                         SettingsCommand settings, std::string fingerprint);

}  // namespace writ
