#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>

namespace writ {

/// A PostgreSQL server process, as its `postmaster.pid` describes it.
struct Postmaster {
  pid_t pid = 0;
  std::filesystem::path socket_directory;
  bool ready = false;  ///< It says that it accepts connections.
};

/// What `postmaster.pid` in a cluster says, whether or not that server still runs. Nothing when
/// there is no such file or it is incomplete. Throws StartError when it cannot be read.
std::optional<Postmaster> recorded_postmaster(const std::filesystem::path& cluster);

/// The live server of a cluster. A process that merely got the same number after a crash is not
/// taken for it. Throws StartError when that cannot be found out.
std::optional<Postmaster> running_postmaster(const std::filesystem::path& cluster);

/// Tells a cluster's server, if it runs, to stop as `pg_ctl stop -m fast` would; does not wait.
void interrupt_postmaster(const std::filesystem::path& cluster);

/// Stops a cluster's server, if it runs, as `pg_ctl stop -m fast` would, and once half of `timeout`
/// has passed as
/// `-m immediate` would (the next start then recovers from the log). False when it still runs after
/// `timeout`.
bool shut_down_postmaster(const std::filesystem::path& cluster, std::chrono::milliseconds timeout);

}  // namespace writ
