#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>

namespace writ {

using Deadline = std::chrono::steady_clock::time_point;

/// One connected TCP socket, read and written by one thread. Closes on destruction.
class Socket {
 public:
  enum class Status { kOk, kClosed, kTimeout };
  struct Received {
    Status status = Status::kClosed;
    std::size_t size = 0;
  };

  explicit Socket(int fd);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// How long `receive_patiently` waits.
  void set_patience(std::chrono::milliseconds time);
  /// Waits for bytes in a single system call.
  Received receive_patiently(char* to, std::size_t size);
  /// Waits for bytes until the deadline.
  Received receive(char* to, std::size_t size, Deadline deadline);
  /// Sends all of it before the deadline, or returns what stopped it. Before each wait for the
  /// other end, `before_wait` is told how many bytes went out since the last one.
  Status send(std::string_view bytes, Deadline deadline,
              const std::function<void(std::size_t sent)>& before_wait = {});
  /// Says that nothing more will be sent, then drops what still comes until the other end closes or
  /// the deadline, so that it can read the answer before a reset destroys it.
  void linger(Deadline deadline);
  /// Closing will drop what the other end has not taken yet, instead of leaving it to the system to
  /// keep and to send.
  void reset_on_close();
  /// Whether the other end still holds its side open.
  bool peer_open() const;
  /// Lets the system notice within 15 seconds when the other end is gone without a word.
  void watch_peer();

  /// Safe from other threads while the socket lives: no more bytes in, or neither in nor out.
  void shut_reading();
  void shut_both();

 private:
  bool wait_for(short events, Deadline deadline) const;

  int fd_;
};

}  // namespace writ
