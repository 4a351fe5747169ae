#pragma once

#include <string>

#include "tools/options.h"

namespace writ {

/// `writ accept-log`.
struct AcceptLogOptions {
  DatabaseOptions database = {};
  LogOptions log = {};
  std::string reason;
};

/// Goes on from a log that is no continuation of the last checkpoint: a backup that was restored on
/// purpose, say. Records that as an event by `operator:<user>` and signs a new checkpoint. Does
/// nothing when the log is as it was. Answers the exit code; throws client::UsageError for a data
/// directory that is not the service's, and StartError.
int accept_log(const AcceptLogOptions& options);

}  // namespace writ
