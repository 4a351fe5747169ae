#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "tests/acceptance/local_postgres.h"

namespace writ::test {

/// A data directory of a default run, with the private PostgreSQL that the service keeps for it.
/// Whatever is left running is ended, and all of it removed, with this object.
class PrivateData {
 public:
  PrivateData() = default;
  ~PrivateData();

  std::string path() const { return directory_.path() / "data"; }
  /// The superuser's connection string, from the note in the directory.
  std::string conninfo() const;
  /// The server's process id, 0 when none is running.
  pid_t postmaster() const;
  /// kill -9 of the server, and waits until it is gone.
  void kill_postmaster() const;

 private:
  std::string note(const std::string& start) const;
  /// Where the service keeps the cluster; below the data directory unless it runs as root.
  std::filesystem::path home() const;

  TemporaryDirectory directory_;
};

}  // namespace writ::test
