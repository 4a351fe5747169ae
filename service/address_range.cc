#include "service/address_range.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>

namespace writ {
namespace {

using Bytes = std::array<unsigned char, 16>;
constexpr int kMappedBits = 96;  // before an IPv4 address in IPv6

std::optional<Bytes> parse_address(const std::string& text, bool* v4) {
  Bytes bytes{};
  *v4 = inet_pton(AF_INET, text.c_str(), bytes.data() + kMappedBits / 8) == 1;
  if (*v4) {
    bytes[10] = bytes[11] = 0xff;
    return bytes;
  }
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  return std::nullopt;
}

bool same_bits(const Bytes& a, const Bytes& b, int bits) {
  const int whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
  if (bits % 8 == 0) return true;
  const int mask = 0xff << (8 - bits % 8);
  const auto at = static_cast<std::size_t>(whole);
  return ((a[at] ^ b[at]) & mask) == 0;
}

}  // namespace

AddressRange AddressRange::parse(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  AddressRange range;
  bool v4 = false;
  const auto address = parse_address(std::string(text.substr(0, slash)), &v4);
  bool good = address.has_value();
  if (good && slash < text.size()) {
    const std::string_view bits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), range.bits_);
    const int most = v4 ? 128 - kMappedBits : 128;
    good = error == std::errc() && end == bits.data() + bits.size() && range.bits_ >= 0 &&
           range.bits_ <= most;
    if (v4) range.bits_ += kMappedBits;
  }
  if (!good)
    throw std::invalid_argument("\"" + std::string(text) +
                                "\" is no address: it is like 10.1.2.3, 10.1.0.0/16 or fd00::/8");
  range.address_ = *address;
  return range;
}

bool AddressRange::contains(std::string_view address) const {
  bool v4 = false;
  const auto bytes = parse_address(std::string(address), &v4);
  return bytes && same_bits(*bytes, address_, bits_);
}

}  // namespace writ
