#pragma once

#include "tools/options.h"

namespace writ {

/// `writ serve`: starts what the options ask for, serves until SIGINT, SIGTERM or SIGHUP, stops
/// cleanly. News go to standard error. Answers the program's exit code; throws what a start can
/// fail with.
int serve(const ServeOptions& options);

}  // namespace writ
