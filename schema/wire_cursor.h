#pragma once

#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace writ {

/// How a value stands in protobuf's binary form (the Encoding chapter of its documentation).
enum class WireType : std::uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kBeginGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

constexpr WireType wire_type(std::uint32_t tag) { return static_cast<WireType>(tag & 7); }
constexpr int field_number(std::uint32_t tag) { return static_cast<int>(tag >> 3); }

/// The number that a zigzag varint stands for.
constexpr std::int64_t from_zigzag(std::uint64_t number) {
  return static_cast<std::int64_t>((number >> 1) ^ (0 - (number & 1)));
}

/// Walks along a message in protobuf's binary form, as the library wrote it: bytes that do not make
/// sense are a bug and stop the program. Refers to the bytes.
class WireCursor {
 public:
  explicit WireCursor(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool at_end() const { return at_ == end_; }

  std::uint64_t varint() {
    GOOGLE_CHECK(at_ != end_);
    const auto first = static_cast<unsigned char>(*at_);
    if (first >= 0x80) return long_varint();
    ++at_;
    return first;
  }
  std::uint32_t fixed32() { return fixed<std::uint32_t>(); }
  std::uint64_t fixed64() { return fixed<std::uint64_t>(); }
  std::string_view bytes() {
    const std::uint64_t size = varint();
    GOOGLE_CHECK(size <= static_cast<std::uint64_t>(end_ - at_));
    const std::string_view bytes(at_, size);
    at_ += size;
    return bytes;
  }

  std::uint32_t tag() { return static_cast<std::uint32_t>(varint()); }
  /// Takes the next tag, too, when it is this one.
  bool take(std::uint32_t tag) {
    if (at_end()) return false;
    const char* const before = at_;
    if (this->tag() == tag) return true;
    at_ = before;
    return false;
  }
  /// Passes over the value that has this tag.
  void skip(std::uint32_t tag);

 private:
  template <typename Integer>
  Integer fixed() {
    Integer number;
    GOOGLE_CHECK(sizeof number <= static_cast<std::size_t>(end_ - at_));
    std::memcpy(&number, at_, sizeof number);  // little-endian, as the form is
    at_ += sizeof number;
    return number;
  }
  std::uint64_t long_varint();

  const char* at_;
  const char* end_;
};

}  // namespace writ
