#pragma once

#include "tools/cli_fwd.h"
#include "tools/options.h"

namespace writ {

/// Adds `--data-dir`, `--database-url`, `--migrate-url` and `--startup-timeout`.
void add_database_options(CLI::App& command, DatabaseOptions& options);

}  // namespace writ
