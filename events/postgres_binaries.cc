#include "events/postgres_binaries.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "events/child_process.h"
#include "events/errors.h"

namespace writ {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kProgramTimeout{10};

bool executable(const fs::path& program) { return access(program.c_str(), X_OK) == 0; }

std::vector<fs::path> path_directories() {
  std::vector<fs::path> directories;
  const char* path = std::getenv("PATH");
  std::istringstream parts(path != nullptr ? path : "");
  for (std::string part; std::getline(parts, part, ':');)
    if (part.starts_with('/')) directories.emplace_back(part);
  return directories;
}

/// The major version in the likes of "postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)"; 0 when
/// there is none.
int major_version(std::string_view text) {
  const std::size_t start = text.find(") ");
  int major = 0;
  if (start != std::string_view::npos)
    std::from_chars(text.data() + start + 2, text.data() + text.size(), major);
  return major;
}

}  // namespace

std::vector<fs::path> postgres_search_path() {
  std::vector<fs::path> directories;
  std::error_code none;
  for (const fs::directory_entry& version : fs::directory_iterator("/usr/lib/postgresql", none))
    directories.push_back(version.path() / "bin");
  const std::vector<fs::path> path = path_directories();
  const auto config = std::find_if(path.begin(), path.end(), [](const fs::path& directory) {
    return executable(directory / "pg_config");
  });
  if (config != path.end()) {
    const ChildResult result =
        run_child({.arguments = {*config / "pg_config", "--bindir"}}, kProgramTimeout);
    const std::string directory = result.output.substr(0, result.output.find('\n'));
    if (result.succeeded() && directory.starts_with('/')) directories.emplace_back(directory);
  }
  directories.insert(directories.end(), path.begin(), path.end());
  return directories;
}

std::vector<PostgresBinaries> installed_postgres(const std::vector<fs::path>& directories) {
  std::vector<PostgresBinaries> installed;
  for (const fs::path& directory : directories) {
    const bool complete = executable(directory / "postgres") && executable(directory / "initdb") &&
                          executable(directory / "pg_ctl");
    if (!complete) continue;
    const ChildResult result =
        run_child({.arguments = {directory / "postgres", "--version"}}, kProgramTimeout);
    if (result.succeeded()) installed.push_back({directory, major_version(result.output)});
  }
  std::stable_sort(
      installed.begin(), installed.end(),
      [](const PostgresBinaries& a, const PostgresBinaries& b) { return a.major > b.major; });
  return installed;
}

PostgresBinaries choose_postgres(const std::vector<PostgresBinaries>& installed,
                                 std::optional<int> major) {
  if (major) {
    for (const PostgresBinaries& binaries : installed)
      if (binaries.major == *major) return binaries;
    const std::string version = std::to_string(*major);
    throw StartError("the data directory was made by PostgreSQL " + version +
                     ", which is not installed: apt-get install postgresql-" + version);
  }
  if (installed.empty())
    throw StartError(
        "no PostgreSQL server found: apt-get install postgresql, or name a database with "
        "--database-url");
  if (installed.front().major < kOldestPostgres)
    throw StartError("PostgreSQL " + std::to_string(installed.front().major) + " in " +
                     installed.front().directory.string() + " is too old, Writ needs " +
                     std::to_string(kOldestPostgres) + " or newer: apt-get install postgresql");
  return installed.front();
}

}  // namespace writ
