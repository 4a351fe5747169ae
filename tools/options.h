#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "service/listen_address.h"

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
  bool accept_clock = false;  ///< Append although the database's clock leapt ahead.
  std::size_t read_connections = 8;
  std::size_t batch_limit = 256;                      ///< Commands in one transaction.
  std::size_t max_body_bytes = 4 * 1024 * 1024;       ///< Of a request, decompressed.
  std::size_t body_memory_bytes = 256 * 1024 * 1024;  ///< For all requests' bodies together.
  /// Of web pages that may call, as browsers send them; "*" is every one.
  std::vector<std::string> allowed_origins;
  std::string log_level = "info";  ///< trace, debug, info, warn, error or off.
};

/// `writ rebuild PROJECTION`.
struct RebuildOptions {
  DatabaseOptions database = {};
  std::string projection;
};

/// Nothing to run: help or a version was asked for (exit code 0), or the options are wrong
/// (kUsageError).
struct Answer {
  int exit_code = 0;
  std::string
      text;  ///< Complete lines, for standard output when exit_code is 0, else for standard error.
};

/// Exit codes of the program, for scripts; `writ --help` lists them.
inline constexpr int kSuccess = 0;  ///< Did what was asked; for `serve`, was told to stop and did.
inline constexpr int kFailure = 1;  ///< Could not start, or failed.
inline constexpr int kUsageError = 2;  ///< The options are wrong or refused; nothing was touched.

using CommandLine = std::variant<ServeOptions, RebuildOptions, Answer>;

/// Reads the command line. What a flag does not say, an environment variable does (`--listen`:
/// WRIT_LISTEN), else the default holds. Listening beyond this machine without authentication is
/// refused here.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace writ
