#include "events/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>

namespace writ {
namespace {

constexpr std::size_t kOutputLimit = 64 * 1024;
constexpr std::chrono::milliseconds kTick{20};

/// Ends the child between fork and exec. Only async-signal-safe calls from here to `become`.
[[noreturn]] void fail_in_child(const char* doing) {
  const char* why = strerrordesc_np(errno);
  for (const char* part : {"cannot ", doing, ": ", why != nullptr ? why : "unknown error", "\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  _exit(127);
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Turns the forked child into the command.
[[noreturn]] void become(const ChildCommand& command, const char* directory, char* const* argv,
                         int null_input, int output, pid_t parent) {
  reset_signals();
  setsid();
  if (dup2(null_input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(output, STDERR_FILENO) < 0)
    fail_in_child("redirect input and output");
  close_range(3, ~0U, 0);  // now and not at execve: a lock among them must not outlive our owner
  if (command.user) {
    if (setgroups(1, &command.user->gid) != 0 || setgid(command.user->gid) != 0 ||
        setuid(command.user->uid) != 0)
      fail_in_child("change to the user of PostgreSQL");
  }
  // After setuid, which would clear it again.
  if (command.dies_with_parent && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
    _exit(127);
  if (chdir(directory) != 0) fail_in_child("enter the working directory");
  std::array<char, 64> path{"PATH=/usr/local/bin:/usr/bin:/bin"};
  std::array<char, 16> locale{"LC_ALL=C"};
  char* environment[] = {path.data(), locale.data(), nullptr};
  execve(argv[0], argv, environment);
  fail_in_child(argv[0]);
}

/// A pipe whose ends close themselves.
struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

/// Reads what is there within one tick. False once the other end is closed.
bool read_some(int pipe, std::string& output) {
  pollfd poll_for{pipe, POLLIN, 0};
  if (poll(&poll_for, 1, static_cast<int>(kTick.count())) <= 0) return true;
  std::array<char, 4096> buffer;
  const ssize_t count = read(pipe, buffer.data(), buffer.size());
  if (count <= 0) return count < 0 && errno == EINTR;
  const std::size_t room = kOutputLimit - output.size();
  output.append(buffer.data(), std::min(static_cast<std::size_t>(count), room));
  return true;
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Collects the child's output until it has ended; kills it when its time is up.
ChildResult wait_for(pid_t child, int output, std::chrono::milliseconds timeout,
                     const std::function<bool()>& cancelled) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  ChildResult result;
  bool open = true;
  bool killed = false;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (open) {
      open = read_some(output, result.output);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!killed) {
      result.timed_out = std::chrono::steady_clock::now() >= deadline;
      result.cancelled = cancelled && cancelled();
      killed = result.timed_out || result.cancelled;
    }
    // The group exists only after the child's setsid.
    if (killed && kill(-child, SIGKILL) != 0) kill(child, SIGKILL);
  }
  // What it wrote last. A grandchild may hold the pipe open: take what is there and do not wait for
  // more.
  pollfd poll_for{output, POLLIN, 0};
  while (open && poll(&poll_for, 1, 0) > 0) open = read_some(output, result.output);
  result.exit_code = exit_code(status);
  return result;
}

}  // namespace

ChildResult run_child(const ChildCommand& command, std::chrono::milliseconds timeout,
                      const std::function<bool()>& cancelled) {
  std::vector<std::string> arguments = command.arguments;
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  Pipe output;
  const int null_input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_input < 0) throw std::system_error(errno, std::generic_category(), "/dev/null");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0)
    become(command, command.directory.c_str(), argv.data(), null_input, output.ends[1], parent);
  const int fork_error = errno;
  close(null_input);
  if (child < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
  output.close_end(1);
  return wait_for(child, output.ends[0], timeout, cancelled);
}

}  // namespace writ
