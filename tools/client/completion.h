#pragma once

#include <string>

#include "tools/cli_fwd.h"

namespace writ::client {

/// A script that teaches a shell the commands and options of `program` and the paths of the
/// settings. `shell` is bash or zsh.
std::string completion_script(const CLI::App& program, const std::string& shell);

}  // namespace writ::client
