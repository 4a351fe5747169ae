#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace writ {

/// The server cannot listen where it was told to; the text names the address and the reason.
class ListenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where to listen.
struct ListenAddress {
  std::string host = "127.0.0.1";  ///< A name or an address, without brackets; "" is every address.
  std::uint16_t port = 0;          ///< 0 lets the system choose.

  /// Only this machine can reach it: `localhost`, 127.0.0.0/8 or ::1.
  bool is_loopback() const;
  /// `host:port`, an IPv6 address in brackets.
  std::string text() const;
};

/// Reads `host:port`, `[::1]:8080` or `:8080`. Throws ListenError for anything else.
ListenAddress parse_listen_address(std::string_view text);

/// `localhost`, a name below it, 127.0.0.0/8 or ::1; `host` is without port and brackets.
bool is_loopback_name(std::string_view host);

/// The host in `host`, `host:port`, `[v6]` or `[v6]:port`, without port and brackets.
std::string_view host_without_port(std::string_view authority);

/// Opens a listening socket (SO_REUSEADDR, never SO_REUSEPORT: a second server on the port is an
/// error) and sets `address.port` to the real port. Throws ListenError.
int open_listener(ListenAddress& address, int backlog);

}  // namespace writ
