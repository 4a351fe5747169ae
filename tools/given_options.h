#pragma once

#include <string>

#include "tools/cli_fwd.h"

namespace writ {

/// Makes every option of the program and its commands refuse an empty value: an unset variable in a
/// script must not mean the same as an option left out. An empty environment variable is none.
void refuse_empty_values(CLI::App& program);

/// Why an argument `--name=` is refused: the parser would take the next argument for its value. ""
/// when there is none.
std::string empty_assignment(const CLI::App& program, int argc, const char* const* argv);

/// Whether the option of this name was on the command line, and not in the environment.
bool on_command_line(const CLI::App& command, const std::string& name);

/// What the parser says of an option, with the variable's name for one out of the environment.
std::string with_origin(const CLI::App& program, const std::string& refusal);

}  // namespace writ
