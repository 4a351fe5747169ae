#include "tests/service/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "service/http_head.h"

namespace writ::test {
namespace {

constexpr int kPatienceMs = 20'000;

}  // namespace

std::string RawAnswer::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equals_ignore_case(key, name)) return value;
  }
  return "";
}

RawClient::RawClient(std::uint16_t port, int receive_buffer, const char* from)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer > 0) {  // before connecting, or the window is announced larger
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  sockaddr_in here{};
  here.sin_family = AF_INET;
  inet_pton(AF_INET, from, &here.sin_addr);
  const int port_later = 1;  // by connect, which has more of them to choose from
  setsockopt(fd_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &port_later, sizeof port_later);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(port);
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd_, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 ||
      connect(fd_, reinterpret_cast<sockaddr*>(&there), sizeof there) != 0) {
    close(fd_);
    throw std::runtime_error("cannot connect to port " + std::to_string(port));
  }
}

RawClient::~RawClient() { close(fd_); }

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

RawAnswer RawClient::receive(bool head_only) {
  RawAnswer answer;
  std::string line = take_line();
  if (line.size() < 12 || line.substr(0, 9) != "HTTP/1.1 ") return answer;
  answer.status = std::stoi(line.substr(9, 3));
  while (!(line = take_line()).empty()) {
    const std::size_t colon = line.find(':');
    answer.headers.emplace_back(line.substr(0, colon),
                                trim_blanks(std::string_view(line).substr(colon + 1)));
  }
  if (answer.status == 100) return receive(head_only);
  if (head_only) return answer;
  if (answer.header("Transfer-Encoding") == "chunked") {
    answer.body = take_chunks();
  } else if (const std::string length = answer.header("Content-Length"); !length.empty()) {
    answer.body = take(std::stoul(length));
  }
  return answer;
}

std::string RawClient::receive_bytes(std::size_t count) { return take(count); }

bool RawClient::hears_within(std::chrono::milliseconds time) {
  pollfd entry{fd_, POLLIN, 0};
  return !buffer_.empty() || poll(&entry, 1, static_cast<int>(time.count())) > 0;
}

bool RawClient::closed_within(std::chrono::milliseconds time) {
  if (!buffer_.empty() || !hears_within(time)) return false;
  char byte = 0;
  return recv(fd_, &byte, 1, 0) <= 0;
}

void RawClient::shut_writing() { shutdown(fd_, SHUT_WR); }

bool RawClient::fill() {
  pollfd entry{fd_, POLLIN, 0};
  if (poll(&entry, 1, kPatienceMs) <= 0) return false;
  char bytes[16 * 1024];
  const ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
  if (n <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

std::string RawClient::take_line() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!fill()) return "";
  }
  const std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

std::string RawClient::take(std::size_t size) {
  while (buffer_.size() < size && fill()) {
  }
  const std::string bytes = buffer_.substr(0, size);
  buffer_.erase(0, bytes.size());
  return bytes;
}

std::string RawClient::take_chunks() {
  std::string body;
  while (true) {
    const std::string size = take_line();
    if (size.empty()) return body + "<cut off>";
    const std::size_t bytes = std::stoul(size, nullptr, 16);
    body += take(bytes);
    take_line();
    if (bytes == 0) return body;
  }
}

std::string post(std::string_view path, std::string_view content_type, std::string_view body,
                 std::string_view more_headers) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + std::string(content_type) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(more_headers) +
         "\r\n" + std::string(body);
}

std::string get(std::string_view target, std::string_view more_headers) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" +
         std::string(more_headers) + "\r\n";
}

}  // namespace writ::test
