#include "service/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace writ {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Socket::Socket(int fd) : fd_(fd) {
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Socket::~Socket() { close(fd_); }

void Socket::set_patience(milliseconds time) {
  timeval value{};
  value.tv_sec = static_cast<time_t>(time.count() / 1000);
  value.tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000);
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
}

Socket::Received Socket::receive_patiently(char* to, std::size_t size) {
  while (true) {
    const ssize_t n = recv(fd_, to, size, 0);
    if (n > 0) return {Status::kOk, static_cast<std::size_t>(n)};
    if (n == 0) return {Status::kClosed, 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {Status::kTimeout, 0};
    if (errno != EINTR) return {Status::kClosed, 0};
  }
}

Socket::Received Socket::receive(char* to, std::size_t size, Deadline deadline) {
  while (true) {
    const ssize_t n = recv(fd_, to, size, MSG_DONTWAIT);
    if (n > 0) return {Status::kOk, static_cast<std::size_t>(n)};
    if (n == 0) return {Status::kClosed, 0};
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return {Status::kClosed, 0};
    if (!wait_for(POLLIN, deadline)) return {Status::kTimeout, 0};
  }
}

Socket::Status Socket::send(std::string_view bytes, Deadline deadline,
                            const std::function<void(std::size_t)>& before_wait) {
  std::size_t sent = 0;
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (before_wait) before_wait(std::exchange(sent, 0));
      if (!wait_for(POLLOUT, deadline)) return Status::kTimeout;
    } else if (errno != EINTR) {
      return Status::kClosed;
    }
  }
  return Status::kOk;
}

void Socket::linger(Deadline deadline) {
  shutdown(fd_, SHUT_WR);
  std::array<char, 16 * 1024> dropped{};
  // A peer that keeps sending passes through here without ever blocking, so the clock is looked at
  // each time.
  while (steady_clock::now() < deadline &&
         receive(dropped.data(), dropped.size(), deadline).status == Status::kOk) {
  }
}

void Socket::reset_on_close() {
  const struct linger at_once { 1, 0 };
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool Socket::peer_open() const {
  pollfd entry{fd_, POLLRDHUP, 0};
  return poll(&entry, 1, 0) == 0;
}

void Socket::watch_peer() {
  const int on = 1;
  const int idle_seconds = 5;
  const int probe_seconds = 3;
  const int probes = 3;
  setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPINTVL, &probe_seconds, sizeof probe_seconds);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

void Socket::shut_reading() { shutdown(fd_, SHUT_RD); }
void Socket::shut_both() { shutdown(fd_, SHUT_RDWR); }

bool Socket::wait_for(short events, Deadline deadline) const {
  while (true) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count() + 1;
    if (left <= 0) return false;
    pollfd entry{fd_, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::min<long>(left, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0 && steady_clock::now() >= deadline) return false;
  }
}

}  // namespace writ
