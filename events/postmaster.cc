#include "events/postmaster.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "events/errors.h"

namespace writ {
namespace {

namespace fs = std::filesystem;

// Lines of postmaster.pid, in PostgreSQL's order.
constexpr std::size_t kPidLine = 0;
constexpr std::size_t kSocketDirectoryLine = 4;
constexpr std::size_t kStatusLine = 7;

/// The first KiBs of a file; nothing when there is none. Any other failure is one: a server must
/// not be taken for dead because we have no file descriptor left.
std::optional<std::string> read_start(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  int error = errno;
  std::string text(4096, '\0');
  ssize_t length = -1;
  if (file >= 0) {
    length = read(file, text.data(), text.size());
    error = errno;
    close(file);
  }
  if (length >= 0) {
    text.resize(static_cast<std::size_t>(length));
    return text;
  }
  if (error == ENOENT || error == ENOTDIR || error == ESRCH) return std::nullopt;
  throw StartError("cannot read " + path.string() + ": " + std::strerror(error));
}

/// Whether `pid` is the server of `cluster`: a program named postgres of the cluster's owner, whose
/// working directory (where that may be read; a container's root may not) is the cluster.
bool is_server_of(pid_t pid, const fs::path& cluster) {
  const fs::path process = fs::path("/proc") / std::to_string(pid);
  struct stat of_process = {};
  struct stat of_cluster = {};
  if (stat(process.c_str(), &of_process) != 0 || stat(cluster.c_str(), &of_cluster) != 0)
    return false;
  const std::string cmdline = read_start(process / "cmdline").value_or("");
  const std::string program = cmdline.c_str();  // its first word
  if (of_process.st_uid != of_cluster.st_uid || fs::path(program).filename() != "postgres")
    return false;
  std::error_code error;
  const fs::path directory = fs::read_symlink(process / "cwd", error);
  return error || directory == cluster;
}

}  // namespace

std::optional<Postmaster> recorded_postmaster(const fs::path& cluster) {
  std::istringstream file(read_start(cluster / "postmaster.pid").value_or(""));
  std::vector<std::string> lines;
  for (std::string line; lines.size() <= kStatusLine && std::getline(file, line);)
    lines.push_back(line);
  if (lines.empty()) return std::nullopt;
  Postmaster postmaster;
  const std::string& pid = lines[kPidLine];
  if (std::from_chars(pid.data(), pid.data() + pid.size(), postmaster.pid).ec != std::errc())
    return std::nullopt;
  postmaster.pid = std::abs(postmaster.pid);  // Negative in single-user mode.
  if (postmaster.pid <= 1) return std::nullopt;
  if (lines.size() > kSocketDirectoryLine)
    postmaster.socket_directory = lines[kSocketDirectoryLine];
  if (lines.size() > kStatusLine) postmaster.ready = lines[kStatusLine].starts_with("ready");
  return postmaster;
}

std::optional<Postmaster> running_postmaster(const fs::path& cluster) {
  std::optional<Postmaster> postmaster = recorded_postmaster(cluster);
  if (postmaster && !is_server_of(postmaster->pid, cluster)) postmaster.reset();
  return postmaster;
}

void interrupt_postmaster(const fs::path& cluster) {
  if (const std::optional<Postmaster> postmaster = running_postmaster(cluster))
    kill(postmaster->pid, SIGINT);
}

bool shut_down_postmaster(const fs::path& cluster, std::chrono::milliseconds timeout) {
  const auto start = std::chrono::steady_clock::now();
  int sent = 0;
  while (const std::optional<Postmaster> postmaster = running_postmaster(cluster)) {
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited >= timeout) return false;
    const int signal = waited < timeout / 2 ? SIGINT : SIGQUIT;
    if (signal != sent) kill(postmaster->pid, signal);
    sent = signal;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace writ
