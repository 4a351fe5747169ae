#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace writ {

/// One installed PostgreSQL server: the directory of `postgres`, `initdb` and `pg_ctl`.
struct PostgresBinaries {
  std::filesystem::path directory;
  int major = 0;  ///< E.g. 15.
};

/// The oldest PostgreSQL that Writ runs on.
inline constexpr int kOldestPostgres = 15;

/// Where PostgreSQL servers are looked for: `/usr/lib/postgresql/*/bin` (Debian, Ubuntu), what
/// `pg_config --bindir` says, and the directories of PATH.
std::vector<std::filesystem::path> postgres_search_path();

/// The servers found in `directories` that can be run, newest first.
std::vector<PostgresBinaries> installed_postgres(
    const std::vector<std::filesystem::path>& directories);

/// Chooses from `installed` (newest first): exactly `major` when a cluster of that version exists,
/// else the newest. Throws StartError that says what to install.
PostgresBinaries choose_postgres(const std::vector<PostgresBinaries>& installed,
                                 std::optional<int> major);

}  // namespace writ
