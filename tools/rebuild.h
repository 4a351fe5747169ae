#pragma once

#include "tools/options.h"

namespace writ {

/// Runs `writ rebuild PROJECTION`: folds the whole log into the read model anew and shows progress
/// on standard error. Answers the exit code; throws StartError and storage failures, and then the
/// old rows stand.
int rebuild_projection(const RebuildOptions& options);

}  // namespace writ
