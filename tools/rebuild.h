#pragma once

#include "tools/command.h"

namespace writ {

/// `writ rebuild PROJECTION`: builds a read model anew from the log.
void add_rebuild_command(CommandSet& commands);

}  // namespace writ
