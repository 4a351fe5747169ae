#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace writ::test {

/// An answer as it came over the wire.
struct RawAnswer {
  int status = 0;  ///< 0: the connection was closed, or nothing came in time.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  ///< Without chunk framing.

  /// The first header of this name, whatever its case; "" when absent.
  std::string header(std::string_view name) const;
};

/// A TCP connection that says exactly what it is told to, and waits at most a few seconds for
/// anything.
class RawClient {
 public:
  /// `receive_buffer`: of the socket, in bytes; 0 leaves it to the system. `from`: the loopback
  /// address it comes from.
  explicit RawClient(std::uint16_t port, int receive_buffer = 0, const char* from = "127.0.0.1");
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// False when the server has closed the connection.
  bool send(std::string_view bytes);
  /// Reads one answer. `head_only`: the request was HEAD.
  RawAnswer receive(bool head_only = false);
  RawAnswer exchange(std::string_view bytes) {
    send(bytes);
    return receive();
  }
  /// Reads what is there until `count` bytes arrived, the server closes, or nothing comes in time.
  std::string receive_bytes(std::size_t count);
  /// Waits for bytes, or for the server to close; false when neither came within `time`.
  bool hears_within(std::chrono::milliseconds time);
  /// Waits for the server to close; false when it did not within `time`, or sent something instead.
  bool closed_within(std::chrono::milliseconds time);
  void shut_writing();

 private:
  bool fill();
  std::string take_line();
  std::string take(std::size_t size);
  std::string take_chunks();

  int fd_;
  std::string buffer_;
};

/// A POST with a body, as a sane client would send it.
std::string post(std::string_view path, std::string_view content_type, std::string_view body,
                 std::string_view more_headers = "");
std::string get(std::string_view target, std::string_view more_headers = "");

}  // namespace writ::test
