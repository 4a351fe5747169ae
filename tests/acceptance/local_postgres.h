#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/acceptance/child.h"

namespace writ::test {

/// A directory below the system's one for temporary files, removed with this object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A PostgreSQL server of one test's own, on a Unix socket, that can be stopped and started. As
/// root it runs as `postgres`. Gone with this object.
class LocalPostgres {
 public:
  LocalPostgres();  ///< Made, and running.

  void start();
  void stop();

  /// For the superuser, in the server's first database or another one.
  std::string conninfo(const std::string& database = "postgres",
                       const std::string& user = "postgres") const;

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<Child> server_;
};

/// The path of one of PostgreSQL's programs, e.g. "pg_dump".
std::string postgres_program(const std::string& name);

}  // namespace writ::test
