#pragma once

#include <array>
#include <string_view>

namespace writ {

/// Addresses with a common beginning, e.g. 10.1.0.0/16, or a single one. An IPv4 address and its
/// form in IPv6 (::ffff:10.1.2.3) are the same.
class AddressRange {
 public:
  /// Reads `10.1.2.3`, `10.1.0.0/16`, `fd00::1` or `fd00::/8`. Throws std::invalid_argument for
  /// anything else, names of hosts as well.
  static AddressRange parse(std::string_view text);

  /// Whether an address, without port and brackets, is one of them. False for what is none.
  bool contains(std::string_view address) const;

 private:
  std::array<unsigned char, 16> address_{};  // IPv6
  int bits_ = 128;
};

}  // namespace writ
