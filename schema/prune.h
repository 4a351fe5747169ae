#pragma once

#include "flyteidl2/settings/settings_definition.pb.h"

namespace writ {

/// Brings `settings` into the form that is stored: drops every INHERIT leaf (whatever value it
/// carries), clears `scope_level` and the value of UNSET leaves, drops unknown fields, then every
/// message left empty. Pruning what is pruned changes nothing.
void prune(flyteidl2::settings::Settings* settings);

}  // namespace writ
