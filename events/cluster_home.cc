#include "events/cluster_home.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "events/errors.h"
#include "events/postmaster.h"
#include "events/sha256.h"

namespace writ {
namespace {

namespace fs = std::filesystem;

constexpr char kNoteName[] = "POSTGRES";
constexpr char kHomeInside[] = "postgres";  // of all users but root, in the data directory
constexpr char kNoteCluster[] = "cluster: ";
constexpr char kNoteConnection[] = "connect: ";
constexpr char kRootHomes[] = "/var/lib/writ";
constexpr std::size_t kHomeName = 16;  // hexadecimal digits
constexpr char kSocketPrefix[] = "writ-";
constexpr std::size_t kSocketPathLimit = 107;
constexpr char kSocketName[] = ".s.PGSQL.5432";
constexpr char kSocketLockName[] = ".s.PGSQL.5432.lock";
constexpr std::chrono::seconds kStopTimeout{30};
constexpr std::chrono::seconds kRemoveTimeout{60};
constexpr std::chrono::hours kAbandoned{1};  // a first start takes seconds

// For a lock. A process that was killed may have left a child between fork and exec, which holds it
// too for a moment; one that lives keeps it, unless it is about to end.
constexpr std::chrono::milliseconds kDeadHolderPatience{2'000};
constexpr std::chrono::milliseconds kLiveHolderPatience{200};
constexpr std::chrono::milliseconds kLockPoll{10};

StartError failure(const std::string& doing, const fs::path& path, int error) {
  return StartError("cannot " + doing + " " + path.string() + ": " + std::strerror(error));
}

/// What follows `start` in the note, "" when nothing does.
std::string noted(const fs::path& data_directory, const std::string& start) {
  std::ifstream note(cluster_note(data_directory));
  for (std::string line; std::getline(note, line);)
    if (line.starts_with(start)) return line.substr(start.size());
  return {};
}

/// The directory that the note names, "" when there is no note.
fs::path noted_home(const fs::path& data_directory) {
  const std::string home = noted(data_directory, kNoteCluster);
  return home.empty() ? fs::path() : data_directory / home;
}

void make_private_directory(const fs::path& directory, const std::optional<ProcessUser>& owner) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    throw failure("make", directory, errno);
  // Without following a link: chown must not give away what somebody made it point to.
  const int opened = open(directory.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) throw failure("open", directory, errno);
  const bool done =
      (!owner || fchown(opened, owner->uid, owner->gid) == 0) && fchmod(opened, 0700) == 0;
  const int error = errno;
  close(opened);
  if (!done) throw failure("set owner and mode of", directory, error);
}

ProcessUser server_user_for_root() {
  errno = 0;
  const passwd* entry = getpwnam("postgres");
  if (entry == nullptr)
    throw StartError(
        "PostgreSQL does not run as root and there is no user postgres: apt-get install "
        "postgresql");
  return {entry->pw_uid, entry->pw_gid};
}

std::string file_stamp() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

/// The directory of all homes: root's own, but the server must get through it, whatever our umask.
void make_root_homes() {
  if (mkdir(kRootHomes, 0755) == 0) {
    if (chmod(kRootHomes, 0755) != 0) throw failure("set the mode of", kRootHomes, errno);
  } else if (errno != EEXIST) {
    throw failure("make", kRootHomes, errno);
  }
}

fs::path home_for_root(const fs::path& data_directory) {
  const std::string hash = hex(sha256(data_directory.string())).substr(0, kHomeName);
  return fs::path(kRootHomes) / hash;
}

/// Keeps the cluster of a data directory that is gone from being taken for the one of its
/// successor.
void set_aside(const ClusterHome& home, const Progress& progress) {
  const std::optional<Postmaster> left = recorded_postmaster(home.cluster());
  if (!shut_down_postmaster(home.cluster(), kStopTimeout))
    throw StartError("the PostgreSQL in " + home.directory.string() +
                     " belongs to a deleted data directory and does not stop");
  if (left) remove_socket_directory(home, left->socket_directory);
  const fs::path aside = home.directory.string() + ".old-" + file_stamp();
  if (rename(home.directory.c_str(), aside.c_str()) != 0)
    throw failure("rename", home.directory, errno);
  progress("kept the database of an earlier data directory of this path in " + aside.string());
}

/// Whether a home is what a first start that was killed left there, and a data directory that is
/// gone: as root nothing else leads to it any more.
bool is_abandoned(const fs::path& home, const ProcessUser& user) {
  const std::string name = home.filename();
  struct stat status = {};
  if (name.size() != kHomeName || !std::all_of(name.begin(), name.end(), isxdigit) ||
      lstat(home.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != user.uid)
    return false;
  const auto changed = std::chrono::system_clock::from_time_t(status.st_mtime);
  if (std::chrono::system_clock::now() - changed < kAbandoned) return false;
  return std::all_of(fs::directory_iterator(home), fs::directory_iterator(),
                     [](const fs::directory_entry& entry) {
                       return entry.path().filename().string().starts_with(kClusterDraftPrefix);
                     });
}

void remove_abandoned_homes(const ProcessUser& user) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(kRootHomes, error)) {
    ClusterHome home{{}, entry.path(), user};
    try {
      if (!is_abandoned(home.directory, user)) continue;
      remove_cluster_drafts(home);
      rmdir(home.directory.c_str());
    } catch (const std::exception&) {
      // Somebody else is at it; if not, the next start is another try.
    }
  }
}

/// The data directory was used before, at another path or as another user.
void check_noted_home(const fs::path& data_directory, const fs::path& before,
                      const fs::path& home) {
  const std::string escape =
      "; to start with an empty log instead, remove " + cluster_note(data_directory).string();
  if (before != home)
    throw StartError("the database of " + data_directory.string() + " is in " + before.string() +
                     ": run as the user and at the path it was made by, or move it to " +
                     home.string() + escape);
  // Without a connection in the note there never was one.
  if (!fs::exists(home) && !noted(data_directory, kNoteConnection).empty())
    throw StartError("the database of " + data_directory.string() + " was in " + home.string() +
                     ", which is gone" + escape);
}

std::vector<fs::path> socket_parents(const ClusterHome& home) {
  std::vector<fs::path> parents;
  if (home.user) {
    parents.emplace_back("/run");
  } else if (const char* runtime = std::getenv("XDG_RUNTIME_DIR");
             runtime != nullptr && *runtime == '/') {
    struct stat status = {};
    if (lstat(runtime, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 022) == 0)
      parents.emplace_back(runtime);
  }
  parents.emplace_back("/tmp");
  return parents;
}

/// The process that a lock file names.
std::string read_holder(int lock_file) {
  char holder[32] = {};
  const ssize_t length = pread(lock_file, holder, sizeof holder - 1, 0);
  return {holder, length > 0 ? std::strcspn(holder, "\n") : 0};
}

/// Whether there is such a process, and not only what is left of it until it is reaped.
bool is_live(const std::string& pid) {
  const int number = std::atoi(pid.c_str());
  if (number <= 0 || (kill(number, 0) != 0 && errno == ESRCH)) return false;
  std::ifstream cmdline("/proc/" + pid + "/cmdline");
  return cmdline.peek() != std::ifstream::traits_type::eof();
}

/// Whether a path may stand in a connection string, a shell word and a socket's address.
bool plain_and_short(const std::string& directory) {
  const bool plain = std::all_of(directory.begin(), directory.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("/_.-", c) != nullptr;
  });
  return plain && directory.size() + 1 + std::strlen(kSocketName) <= kSocketPathLimit;
}

}  // namespace

uid_t ClusterHome::owner() const { return user ? user->uid : geteuid(); }

fs::path prepare_data_directory(const fs::path& data_directory) {
  std::error_code error;
  const fs::path absolute = fs::absolute(data_directory).lexically_normal();
  const fs::path parent =
      absolute.has_filename() ? absolute.parent_path() : absolute.parent_path().parent_path();
  fs::create_directories(parent, error);
  if (!error && mkdir(absolute.c_str(), 0700) != 0 && errno != EEXIST)
    error = {errno, std::generic_category()};
  const fs::path canonical = error ? absolute : fs::canonical(absolute, error);
  if (error)
    throw StartError("cannot use the data directory " + data_directory.string() + ": " +
                     error.message());
  if (!fs::is_directory(canonical))
    throw StartError("cannot use the data directory " + data_directory.string() +
                     ": it is not a directory");
  if (access(canonical.c_str(), R_OK | W_OK | X_OK) != 0)
    throw failure("write to the data directory", canonical, errno);
  return canonical;
}

DataDirectoryLock::DataDirectoryLock(const fs::path& data_directory) {
  const fs::path path = data_directory / "lock";
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file_ < 0) throw failure("open", path, errno);
  const auto begun = std::chrono::steady_clock::now();
  while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    const std::string pid = error == EWOULDBLOCK ? read_holder(file_) : "";
    const auto patience = is_live(pid) ? kLiveHolderPatience : kDeadHolderPatience;
    if (error == EWOULDBLOCK && std::chrono::steady_clock::now() - begun < patience) {
      std::this_thread::sleep_for(kLockPoll);
      continue;
    }
    close(file_);
    if (error != EWOULDBLOCK) throw failure("lock", path, error);
    throw DirectoryInUse("the data directory " + data_directory.string() +
                         " is in use by another writ" + (pid.empty() ? "" : ", process " + pid));
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(file_, 0) != 0 || pwrite(file_, pid.data(), pid.size(), 0) < 0) {
    const int error = errno;
    close(file_);
    throw failure("write", path, error);
  }
}

DataDirectoryLock::~DataDirectoryLock() { close(file_); }

fs::path cluster_note(const fs::path& data_directory) { return data_directory / kNoteName; }

bool has_cluster_traces(const fs::path& data_directory) {
  for (const fs::path& trace : {cluster_note(data_directory), data_directory / kHomeInside}) {
    std::error_code error;
    if (fs::exists(trace, error) || error) return true;
  }
  return false;
}

ClusterHome locate_cluster_home(const fs::path& data_directory, const Progress& progress) {
  ClusterHome home{data_directory, data_directory / kHomeInside, std::nullopt};
  const fs::path noted = noted_home(data_directory);
  if (geteuid() == 0) {
    if (fs::exists(home.cluster()))
      throw StartError("the data directory " + data_directory.string() +
                       " was made by another user than root: run writ as that user");
    home.user = server_user_for_root();
    home.directory = home_for_root(data_directory);
    make_root_homes();
    remove_abandoned_homes(*home.user);
    if (noted.empty() && fs::exists(home.cluster())) set_aside(home, progress);
  }
  if (!noted.empty()) check_noted_home(data_directory, noted, home.directory);
  make_private_directory(home.directory, home.user);
  if (noted.empty()) write_cluster_note(home, "");
  return home;
}

void remove_cluster_drafts(const ClusterHome& home) {
  std::vector<std::string> command{"/bin/rm", "-rf", "--"};
  const std::size_t none = command.size();
  for (const fs::directory_entry& entry : fs::directory_iterator(home.directory))
    if (const std::string name = entry.path().filename(); name.starts_with(kClusterDraftPrefix))
      command.push_back(name);
  if (command.size() > none)
    run_child({std::move(command), home.directory, home.user}, kRemoveTimeout);
}

void remove_unused_home(const ClusterHome& home) noexcept {
  try {
    if (home.has_cluster()) return;
    remove_cluster_drafts(home);
    if (rmdir(home.directory.c_str()) == 0) unlink(cluster_note(home.data_directory).c_str());
  } catch (const std::exception&) {
    // The next start takes it over.
  }
}

void write_cluster_note(const ClusterHome& home, const std::string& connection) {
  const fs::path path = cluster_note(home.data_directory);
  const fs::path draft = path.string() + ".new";
  // Relative where it can be, so that the data directory may be moved as a whole.
  const bool inside = home.directory.parent_path() == home.data_directory;
  std::ofstream note(draft, std::ios::trunc);
  note << "Writ keeps the database of this directory in a PostgreSQL of its own.\n"
       << "Do not move or copy this directory while it runs; take backups with pg_dump.\n\n"
       << kNoteCluster << (inside ? home.directory.filename() : home.directory).string() << "\n";
  if (!connection.empty()) note << kNoteConnection << "psql '" << connection << "'\n";
  note.close();
  if (!note || rename(draft.c_str(), path.c_str()) != 0) throw failure("write", path, errno);
}

fs::path make_socket_directory(const ClusterHome& home) {
  int error = ENAMETOOLONG;
  for (const fs::path& parent : socket_parents(home)) {
    std::string directory = parent / (std::string(kSocketPrefix) + "XXXXXX");
    if (!plain_and_short(directory)) continue;
    if (mkdtemp(directory.data()) == nullptr) {
      error = errno;
      continue;
    }
    make_private_directory(directory, home.user);
    return directory;
  }
  throw failure("make a directory for PostgreSQL's socket in", "/tmp", error);
}

void empty_socket_directory(const ClusterHome& home, const fs::path& directory) {
  // What cleans up in /tmp may have taken all of it.
  if (mkdir(directory.c_str(), 0700) == 0)
    make_private_directory(directory, home.user);
  else if (errno != EEXIST)
    throw failure("make", directory, errno);
  if (!is_own_socket_directory(home, directory))
    throw StartError("the directory of PostgreSQL's socket, " + directory.string() +
                     ", is somebody else's");
  unlink((directory / kSocketName).c_str());
  unlink((directory / kSocketLockName).c_str());
}

bool is_own_socket_directory(const ClusterHome& home, const fs::path& directory) {
  struct stat status = {};
  return directory.filename().string().starts_with(kSocketPrefix) &&
         plain_and_short(directory.string()) && lstat(directory.c_str(), &status) == 0 &&
         S_ISDIR(status.st_mode) && status.st_uid == home.owner() &&
         (status.st_mode & 0777) == 0700;
}

void remove_socket_directory(const ClusterHome& home, const fs::path& directory) noexcept {
  if (!is_own_socket_directory(home, directory)) return;
  unlink((directory / kSocketName).c_str());
  unlink((directory / kSocketLockName).c_str());
  rmdir(directory.c_str());
}

}  // namespace writ
