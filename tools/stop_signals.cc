#include "tools/stop_signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <system_error>

namespace writ {

StopSignals::StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  file_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

StopSignals::~StopSignals() { close(file_); }

bool StopSignals::wait(std::chrono::milliseconds timeout) {
  return wait_milliseconds(static_cast<int>(std::clamp<std::int64_t>(timeout.count(), 0, INT_MAX)));
}

void StopSignals::wait() {
  while (!wait_milliseconds(-1)) {
  }
}

bool StopSignals::wait_milliseconds(int timeout) {
  if (!name_.empty()) return true;
  pollfd poll_for{file_, POLLIN, 0};
  signalfd_siginfo info{};
  if (poll(&poll_for, 1, timeout) <= 0 || read(file_, &info, sizeof info) != sizeof info)
    return false;
  name_ = std::string("SIG") + sigabbrev_np(static_cast<int>(info.ssi_signo));
  return true;
}

}  // namespace writ
