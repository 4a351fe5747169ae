#include "service/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "service/http_head.h"

namespace writ {
namespace {

[[noreturn]] void fail(const ListenAddress& address, const std::string& reason) {
  throw ListenError("cannot listen on " + address.text() + ": " + reason);
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(address.port);
  const int error = getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), port.c_str(),
                                &hints, &list);
  if (error != 0) fail(address, gai_strerror(error));
  return AddressList(list, &freeaddrinfo);
}

std::uint16_t bound_port(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

// Returns -1 with errno set when this address does not work.
int listen_on(const addrinfo& info, int backlog) {
  const int fd = socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (info.ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd, info.ai_addr, info.ai_addrlen) == 0 && listen(fd, backlog) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

std::string ListenAddress::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool ListenAddress::is_loopback() const { return is_loopback_name(host); }

bool is_loopback_name(std::string_view host) {
  const std::string name(host);
  in_addr v4{};
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, name.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  constexpr std::string_view kName = "localhost";
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  if (host.size() < kName.size()) return false;
  const std::string_view end = host.substr(host.size() - kName.size());
  if (!equals_ignore_case(end, kName)) return false;
  return host.size() == kName.size() || host[host.size() - kName.size() - 1] == '.';
}

std::string_view host_without_port(std::string_view authority) {
  if (!authority.empty() && authority.front() == '[') {
    return authority.substr(1, authority.find(']') - 1);
  }
  return authority.substr(0, authority.find(':'));
}

ListenAddress parse_listen_address(std::string_view text) {
  const auto refuse = [&](const char* why) {
    throw ListenError("cannot read the listen address \"" + std::string(text) + "\": " + why);
  };
  ListenAddress address;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) refuse("it must be host:port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) refuse("brackets are for IPv6 addresses");
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    refuse("an IPv6 address must be in brackets");
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    refuse("the port must be a number from 0 to 65535");
  }
  address.host = host;
  return address;
}

int open_listener(ListenAddress& address, int backlog) {
  const AddressList list = resolve(address);
  int error = EADDRNOTAVAIL;
  // IPv4 first: "localhost" then means the same address to every client of the default run.
  for (const int family : {AF_INET, AF_INET6}) {
    if (address.host.empty() && family == AF_INET) continue;  // one IPv6 socket takes both
    for (const addrinfo* info = list.get(); info != nullptr; info = info->ai_next) {
      if (info->ai_family != family) continue;
      const int fd = listen_on(*info, backlog);
      if (fd >= 0) {
        address.port = bound_port(fd);
        return fd;
      }
      error = errno;
    }
  }
  if (address.host.empty()) {  // no IPv6 here
    ListenAddress any{"0.0.0.0", address.port};
    const int fd = open_listener(any, backlog);
    address.port = any.port;
    return fd;
  }
  fail(address, std::strerror(error));
}

}  // namespace writ
