#include "events/postmaster.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace writ {
namespace {

namespace fs = std::filesystem;

// Lines of postmaster.pid, in PostgreSQL's order.
constexpr std::size_t kPidLine = 0;
constexpr std::size_t kSocketDirectoryLine = 4;
constexpr std::size_t kStatusLine = 7;

/// Whether `pid` is the server of `cluster`: a program named postgres of the cluster's owner, whose
/// working directory (where that may be read; a container's root may not) is the cluster.
bool is_server_of(pid_t pid, const fs::path& cluster) {
  const fs::path process = fs::path("/proc") / std::to_string(pid);
  struct stat of_process = {};
  struct stat of_cluster = {};
  if (stat(process.c_str(), &of_process) != 0 || stat(cluster.c_str(), &of_cluster) != 0)
    return false;
  std::ifstream cmdline(process / "cmdline");
  std::string program;
  std::getline(cmdline, program, '\0');
  if (of_process.st_uid != of_cluster.st_uid || fs::path(program).filename() != "postgres")
    return false;
  std::error_code error;
  const fs::path directory = fs::read_symlink(process / "cwd", error);
  return error || directory == cluster;
}

}  // namespace

std::optional<Postmaster> recorded_postmaster(const fs::path& cluster) {
  std::ifstream file(cluster / "postmaster.pid");
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
