#include "events/process_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace writ {
namespace {

int checked(int file, const char* what) {
  if (file < 0) throw std::system_error(errno, std::generic_category(), what);
  return file;
}

/// glibc 2.36 declares its own pidfd_open for C alone.
int open_process(pid_t pid) {
  return checked(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)), "watching a process");
}

}  // namespace

Interrupt::Interrupt() : file_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {}

Interrupt::~Interrupt() { close(file_); }

void Interrupt::raise() noexcept {
  const std::uint64_t one = 1;
  // It can only fail when it was raised 2^64 times before.
  [[maybe_unused]] const ssize_t written = write(file_, &one, sizeof one);
}

bool Interrupt::wait(std::chrono::milliseconds at_most) const {
  pollfd poll_for{file_, POLLIN, 0};
  return poll(&poll_for, 1, static_cast<int>(at_most.count())) > 0;
}

ProcessWatch::ProcessWatch(pid_t pid) : pid_(pid), file_(open_process(pid)) {}

ProcessWatch::~ProcessWatch() { close(file_); }

ProcessWatch::Seen ProcessWatch::wait(const Interrupt& interrupt,
                                      std::optional<std::chrono::milliseconds> at_most) const {
  std::array<pollfd, 2> files{pollfd{interrupt.file_, POLLIN, 0}, pollfd{file_, POLLIN, 0}};
  const int time = at_most ? static_cast<int>(at_most->count()) : -1;
  while (poll(files.data(), files.size(), time) < 0)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
  if (files[0].revents != 0) return Seen::kInterrupt;
  if (files[1].revents == 0) return Seen::kNothing;
  // As a container's first process we inherit it: without this its number would stay taken.
  waitpid(pid_, nullptr, WNOHANG);
  return Seen::kEnd;
}

}  // namespace writ
