#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace writ {

/// The operating system user a child runs as.
struct ProcessUser {
  uid_t uid;
  gid_t gid;
};

/// A program to run without a shell.
struct ChildCommand {
  std::vector<std::string> arguments = {};  ///< The first is the program's absolute path.
  std::filesystem::path directory = "/";    ///< Where it runs.
  std::optional<ProcessUser> user = {};     ///< Drops to this user for good; needs root.
  bool dies_with_parent = false;  ///< Killed when the thread that started it ends, however it ends.
};

/// How a child ended.
struct ChildResult {
  int exit_code =
      -1;  ///< 128 + the signal when a signal ended it, 127 when it could not be executed.
  bool timed_out = false;  ///< It was killed for running too long.
  bool cancelled = false;  ///< It was killed because `cancelled` said so.
  std::string output;      ///< Standard output and error together, at most 64 KiB.

  bool succeeded() const { return exit_code == 0 && !timed_out && !cancelled; }
};

/// Runs a program to its end in a session of its own, so that a terminal's Ctrl-C does not reach
/// it. It gets an empty standard input, a minimal environment (PATH and LC_ALL=C), default signal
/// handling and none of our file descriptors. Beyond `timeout`, or once `cancelled` answers true,
/// its process group is killed. Safe in a process with several threads. Throws std::system_error
/// when no process can be made.
ChildResult run_child(const ChildCommand& command, std::chrono::milliseconds timeout,
                      const std::function<bool()>& cancelled = {});

}  // namespace writ
