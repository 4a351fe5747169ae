#pragma once

#include "tools/command.h"

// The client commands: each function adds one, or a pair, and stands in the file of that name.

namespace writ::client {

void add_get(CommandSet& commands);
void add_set(CommandSet& commands);  ///< set, unset and inherit
void add_edit(CommandSet& commands);
void add_log(CommandSet& commands);  ///< log and show
void add_blame(CommandSet& commands);
void add_diff(CommandSet& commands);
void add_revert(CommandSet& commands);
void add_watch(CommandSet& commands);
void add_apply(CommandSet& commands);
void add_checkpoint(CommandSet& commands);
void add_proof(CommandSet& commands);

}  // namespace writ::client
