#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "service/listen_address.h"
#include "tools/command.h"
#include "tools/exit_codes.h"
#include "tools/identity_options.h"
#include "tools/log_options.h"

namespace writ {

/// Which database to work on, and how long to wait for it.
struct DatabaseOptions {
  std::filesystem::path data_directory = ".writ";  ///< Of the private PostgreSQL.
  std::string database_url;                        ///< Empty: the private PostgreSQL.
  std::string migrate_url;  ///< Only beside `database_url`; empty: that one migrates too.
  std::chrono::seconds startup_timeout{60};
};

/// `writ serve`.
struct ServeOptions {
  DatabaseOptions database = {};
  ListenAddress listen{"127.0.0.1", 8080};
  bool allow_anonymous = false;
  CallerOptions callers = {};
  LogOptions log = {};
  bool public_log = false;    ///< Everybody may read the log at its static paths.
  bool accept_clock = false;  ///< Append although the database's clock leapt ahead.
  std::size_t read_connections = 8;
  std::size_t batch_limit = 256;                      ///< Commands in one transaction.
  std::size_t max_body_bytes = 4 * 1024 * 1024;       ///< Of a request, decompressed.
  std::size_t body_memory_bytes = 256 * 1024 * 1024;  ///< For all requests' bodies together.
  /// Of web pages that may call, as browsers send them; "*" is every one.
  std::vector<std::string> allowed_origins;
  std::chrono::seconds check_pause{600};  ///< Between passes of the continuous check; 0: none.
  std::string log_level = "info";         ///< trace, debug, info, warn, error or off.
};

/// Nothing to run: help or a version was asked for (exit code 0), or the options are wrong
/// (kUsageError).
struct Answer {
  int exit_code = 0;
  std::string
      text;  ///< Complete lines, for standard output when exit_code is 0, else for standard error.
};

/// One of the commands that bring their own options; to be run.
struct Task {
  Action run;
};

using CommandLine = std::variant<ServeOptions, Task, Answer>;

/// Reads the command line. What a flag does not say, an environment variable does (`--listen`:
/// WRIT_LISTEN), else the default holds. Listening beyond this machine without authentication is
/// refused here.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace writ
