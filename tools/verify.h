#pragma once

#include "tools/command.h"

namespace writ {

/// `writ verify`: checks every invariant of the log on a live database.
void add_verify_command(CommandSet& commands);

}  // namespace writ
