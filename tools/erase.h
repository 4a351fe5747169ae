#pragma once

#include "tools/command.h"

namespace writ {

/// `writ erase --position N`: erases the content of one event.
void add_erase_command(CommandSet& commands);

}  // namespace writ
