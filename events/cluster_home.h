#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "events/child_process.h"

namespace writ {

/// Takes one line of news for the operator, without a line feed.
using Progress = std::function<void(std::string_view line)>;

/// Makes the data directory (mode 0700) if it is missing and answers its canonical path. Throws
/// StartError when it cannot be made or written.
std::filesystem::path prepare_data_directory(const std::filesystem::path& data_directory);

/// Exclusive use of a data directory, for as long as the object lives and at most as long as the
/// process.
class DataDirectoryLock {
 public:
  /// Takes the lock. Throws DirectoryInUse that names the process that holds it: soon when that one
  /// lives, else after two seconds, since what was forked by a process that was killed can hold it
  /// for a moment longer.
  explicit DataDirectoryLock(const std::filesystem::path& data_directory);
  ~DataDirectoryLock();
  DataDirectoryLock(const DataDirectoryLock&) = delete;
  DataDirectoryLock& operator=(const DataDirectoryLock&) = delete;

 private:
  int file_ = -1;
};

/// Where the private PostgreSQL of a data directory lives, and as whom it runs.
///
/// That is `postgres/` in the data directory; but PostgreSQL refuses to run as root, and its user
/// `postgres` cannot enter a directory of root's. So for root it is `/var/lib/writ/<hash of the
/// data directory's path>`, owned by `postgres`, and the note in the data directory says so.
struct ClusterHome {
  std::filesystem::path data_directory;  ///< Canonical.
  std::filesystem::path directory;       ///< Exists, mode 0700, owned by the server's user.
  std::optional<ProcessUser> user;       ///< Whom to become, when we are root.

  std::filesystem::path cluster() const {
    return directory / "cluster";
  }  ///< PostgreSQL's own data directory.
  bool has_cluster() const { return std::filesystem::exists(cluster() / "PG_VERSION"); }
  uid_t owner() const;
};

/// Finds or makes the home of a locked data directory's cluster. A cluster left by a deleted data
/// directory of the same path is stopped and set aside, never taken over and never deleted. As
/// root, homes of others that have never had a cluster, an hour old, are removed by the way. Throws
/// StartError when the data directory was moved or copied away from its cluster, or belongs to
/// another user: starting empty would hide its log.
ClusterHome locate_cluster_home(const std::filesystem::path& data_directory,
                                const Progress& progress);

/// Where a data directory notes its cluster.
std::filesystem::path cluster_note(const std::filesystem::path& data_directory);

/// Whether there was ever a cluster for this data directory; also true when that cannot be told.
bool has_cluster_traces(const std::filesystem::path& data_directory);

/// What the names of unfinished clusters in a home begin with.
inline constexpr char kClusterDraftPrefix[] = "cluster.new.";

/// Removes the unfinished clusters in a home. Nobody may be making one.
void remove_cluster_drafts(const ClusterHome& home);

/// Removes a home without a cluster, and the note of it, after a first start that failed.
void remove_unused_home(const ClusterHome& home) noexcept;

/// Writes the note `POSTGRES` into the data directory: where the cluster is and how to reach it.
/// The home is found by it again. `connection` may be empty.
void write_cluster_note(const ClusterHome& home, const std::string& connection);

/// Makes an empty directory for the server's socket: mode 0700, owned by the server's user, its
/// path short enough for a socket (107 bytes). In /run for root, else in XDG_RUNTIME_DIR, else in
/// /tmp. Throws StartError.
std::filesystem::path make_socket_directory(const ClusterHome& home);

/// Makes ready for another server what `make_socket_directory` made for one that is gone. Throws
/// StartError, also when it has become somebody else's.
void empty_socket_directory(const ClusterHome& home, const std::filesystem::path& directory);

/// Whether a socket directory is one that `make_socket_directory` made for this home's user, and
/// nobody else's.
bool is_own_socket_directory(const ClusterHome& home, const std::filesystem::path& directory);

/// Removes what a server left of its socket directory. Does nothing to a directory that is not
/// ours.
void remove_socket_directory(const ClusterHome& home,
                             const std::filesystem::path& directory) noexcept;

}  // namespace writ
