#include "tests/acceptance/child.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

namespace writ::test {
namespace {

int memory_file(const char* name) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  fcntl(fd, F_SETFL, O_APPEND);
  return fd;
}

std::string contents(int fd) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t count = pread(fd, piece, sizeof piece, static_cast<off_t>(text.size()));
    if (count <= 0) return text;
    text.append(piece, static_cast<std::size_t>(count));
  }
}

std::vector<std::string> environment_of(const ChildOptions& options) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto starts = [&](const std::string& start) { return text.starts_with(start); };
    if (std::any_of(options.without.begin(), options.without.end(), starts)) continue;
    if (!options.environment.contains(text.substr(0, text.find('=')))) out.push_back(text);
  }
  for (const auto& [name, value] : options.environment) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Child::Child(const ChildOptions& options) : out_(memory_file("out")), err_(memory_file("err")) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = environment_of(options);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  const passwd* user = options.as_postgres && geteuid() == 0 ? getpwnam("postgres") : nullptr;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    // Other threads of the test may hold any lock: only system calls from here on.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(out_, 1);
    dup2(err_, 2);
    if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(127);
    if (user != nullptr &&
        (setgroups(0, nullptr) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
      _exit(127);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

Child::~Child() {
  signal(SIGKILL);
  wait(std::chrono::seconds(10));
  for (const int fd : {out_, err_, pidfd_})
    if (fd >= 0) close(fd);
}

void Child::signal(int number) const {
  if (!status_) kill(pid_, number);
}

std::optional<int> Child::wait(std::chrono::milliseconds limit) {
  if (status_) return status_;
  pollfd ended{pidfd_, POLLIN, 0};
  if (poll(&ended, 1, static_cast<int>(limit.count())) <= 0) return std::nullopt;
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return status_;
}

std::string Child::standard_output() const { return contents(out_); }
std::string Child::standard_error() const { return contents(err_); }

std::string run_to_end(const ChildOptions& options) {
  Child child(options);
  const auto status = child.wait(std::chrono::minutes(1));
  if (status != 0)
    throw std::runtime_error(options.arguments.front() +
                             (status ? " failed: " : " takes too long: ") + child.standard_error());
  return child.standard_output();
}

}  // namespace writ::test
