#include "tests/support/postgres_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/test_database.h"

namespace writ {
namespace {

constexpr char kSocketName[] = "/.s.PGSQL.5432";

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw std::runtime_error("too long for a socket: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int connect_to_server() {
  auto server = test_server();
  const std::string port = server["port"].empty() ? "5432" : server["port"];
  const std::string& host = server["host"];
  int fd = -1;
  int failed = -1;
  if (host.starts_with('/')) {
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = unix_address(host + "/.s.PGSQL." + port);
    failed = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } else {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &address.sin_addr);
    failed = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  if (failed == 0) return fd;
  close(fd);
  return -1;
}

bool read_some(int fd, std::string& buffer) {
  std::array<char, 65536> chunk{};
  const ssize_t got = read(fd, chunk.data(), chunk.size());
  if (got <= 0) return false;
  buffer.append(chunk.data(), static_cast<std::size_t>(got));
  return true;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Where the message that begins at `at` ends, or nothing while it is not whole.
std::optional<std::size_t> message_end(const std::string& buffer, std::size_t at, bool typed) {
  const std::size_t type = typed ? 1 : 0;
  if (buffer.size() < at + type + 4) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, buffer.data() + at + type, 4);
  const std::size_t end = at + type + ntohl(length);
  return buffer.size() < end ? std::nullopt : std::optional(end);
}

}  // namespace

PostgresProxy::PostgresProxy() {
  char pattern[] = "/tmp/writ-proxy-XXXXXX";
  if (mkdtemp(pattern) == nullptr)
    throw std::runtime_error("cannot make a directory for the proxy");
  directory_ = pattern;
  const sockaddr_un address = unix_address(directory_ + kSocketName);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_, 64) != 0 || pipe(wake_) != 0)
    throw std::runtime_error("the proxy cannot listen in " + directory_);
  thread_ = std::thread([this] { work(); });
}

PostgresProxy::~PostgresProxy() {
  close(wake_[1]);
  thread_.join();
  while (!links_.empty()) close_link(links_.begin()->first);
  close(wake_[0]);
  close(listener_);
  unlink((directory_ + kSocketName).c_str());
  rmdir(directory_.c_str());
}

void PostgresProxy::arm(std::deque<Cut> cuts) {
  const std::lock_guard lock(mutex_);
  armed_ = std::move(cuts);
}

std::size_t PostgresProxy::pending() const {
  const std::lock_guard lock(mutex_);
  return armed_.size();
}

void PostgresProxy::refuse(bool on) {
  const std::lock_guard lock(mutex_);
  refuse_ = on;
}

std::uint64_t PostgresProxy::cuts() const {
  const std::lock_guard lock(mutex_);
  return cuts_;
}

std::uint64_t PostgresProxy::round_trips() const {
  const std::lock_guard lock(mutex_);
  return round_trips_;
}

std::uint64_t PostgresProxy::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void PostgresProxy::work() {
  for (;;) {
    std::vector<pollfd> polled = {{wake_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    std::vector<int> clients;
    for (const auto& [client, link] : links_) {
      clients.push_back(client);
      polled.push_back({client, POLLIN, 0});
      polled.push_back({link.server, POLLIN, 0});
    }
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[0].revents != 0) return;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const int client = clients[i];
      Link& link = links_.at(client);
      bool open = true;
      if (polled[2 + 2 * i].revents != 0) open = from_client(client, link);
      if (open && polled[3 + 2 * i].revents != 0) open = from_server(client, link);
      if (!open) close_link(client);
    }
    if (polled[1].revents != 0) accept_client();
  }
}

void PostgresProxy::accept_client() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  bool refused = false;
  {
    const std::lock_guard lock(mutex_);
    refused = refuse_;
    ++connections_;
  }
  const int server = refused ? -1 : connect_to_server();
  if (server < 0) {
    close(client);
    return;
  }
  links_[client].server = server;
}

/// Counts a request and says whether and when its connection is to be cut.
std::optional<PostgresProxy::Cut::When> PostgresProxy::request_seen(char type,
                                                                    const std::string& request) {
  const std::lock_guard lock(mutex_);
  ++round_trips_;
  if (armed_.empty()) return std::nullopt;
  const std::string query = type == 'Q' ? request.substr(5, request.size() - 6) : "";
  Cut& next = armed_.front();
  if (!next.query.empty() && !query.ends_with(next.query)) return std::nullopt;
  if (--next.nth > 0) return std::nullopt;
  const Cut cut = next;
  armed_.pop_front();
  if (cut.stay_away) refuse_ = true;
  ++cuts_;
  return cut.when;
}

/// Passes whole requests on: the messages up to a simple query or a Sync.
bool PostgresProxy::from_client(int client, Link& link) {
  if (!read_some(client, link.from_client)) return false;
  std::size_t at = 0;
  while (const auto end = message_end(link.from_client, at, link.started)) {
    const char type = link.started ? link.from_client[at] : '\0';
    const std::size_t begin = std::exchange(at, *end);
    const bool request = type == 'Q' || type == 'S';
    if (link.started && !request && type != 'X' && type != 'p') continue;
    link.started = true;
    if (request) {
      const auto cut = request_seen(type, link.from_client.substr(begin, at - begin));
      if (cut == Cut::When::kBeforeServer) return false;
      link.swallow = cut == Cut::When::kBeforeClient;
    }
    if (!send_all(link.server, std::string_view(link.from_client).substr(0, at))) return false;
    link.from_client.erase(0, at);
    at = 0;
  }
  return true;
}

bool PostgresProxy::from_server(int client, Link& link) {
  if (!read_some(link.server, link.from_server)) return false;
  if (!link.swallow) {
    const bool sent = send_all(client, link.from_server);
    link.from_server.clear();
    return sent;
  }
  // Cut once the whole answer is here: the server is certainly done.
  std::size_t at = 0;
  while (const auto end = message_end(link.from_server, at, true)) {
    if (link.from_server[at] == 'Z') return false;
    at = *end;
  }
  return true;
}

void PostgresProxy::close_link(int client) {
  close(links_.at(client).server);
  close(client);
  links_.erase(client);
}

}  // namespace writ
