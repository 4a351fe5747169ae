#pragma once

#include "tools/command.h"

namespace writ {

/// `writ export`: the whole log as lines of JSON.
void add_export_command(CommandSet& commands);

/// `writ verify-export FILE`: checks such lines without a server or a database.
void add_verify_export_command(CommandSet& commands);

}  // namespace writ
