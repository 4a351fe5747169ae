#include "tests/acceptance/private_data.h"

#include <csignal>
#include <fstream>
#include <stdexcept>

#include "tests/support/wait.h"

namespace writ::test {
namespace {

bool is_postgres(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  return std::getline(file, name) && name == "postgres";
}

}  // namespace

PrivateData::~PrivateData() {
  const std::filesystem::path cluster_home = home();
  const pid_t left = postmaster();
  if (left != 0) {
    kill(left, SIGQUIT);
    wait_until([&] { return !is_postgres(left); }, std::chrono::seconds(20));
  }
  if (cluster_home.empty()) return;
  std::error_code error;
  const std::string connection = note("connect: psql 'host=");
  if (!connection.empty())
    std::filesystem::remove_all(connection.substr(0, connection.find(' ')), error);
  std::filesystem::remove_all(cluster_home, error);
}

std::string PrivateData::note(const std::string& start) const {
  std::ifstream file(path() + "/POSTGRES");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(start)) return line.substr(start.size());
  return "";
}

std::filesystem::path PrivateData::home() const {
  const std::string name = note("cluster: ");
  return name.empty() ? std::filesystem::path() : std::filesystem::path(path()) / name;
}

std::string PrivateData::conninfo() const {
  const std::string quoted = note("connect: psql '");
  if (quoted.empty()) throw std::runtime_error("no note in " + path());
  return quoted.substr(0, quoted.rfind('\''));
}

pid_t PrivateData::postmaster() const {
  std::ifstream file(home() / "cluster/postmaster.pid");
  pid_t pid = 0;
  return file >> pid && pid > 1 && is_postgres(pid) ? pid : 0;
}

void PrivateData::kill_postmaster() const {
  const pid_t pid = postmaster();
  if (pid == 0) throw std::runtime_error("no server is running");
  kill(pid, SIGKILL);
  if (!wait_until([&] { return !is_postgres(pid); })) throw std::runtime_error("it lives on");
}

}  // namespace writ::test
