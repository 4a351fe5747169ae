#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace writ {

/// One character and how many bytes it took.
struct DecodedUtf8 {
  char32_t code_point;
  std::size_t size;
};

/// Decodes the character at the front of `text`, which must not be empty. Nothing when the bytes
/// are malformed, overlong, a surrogate, or beyond U+10FFFF (RFC 3629).
std::optional<DecodedUtf8> decode_utf8(std::string_view text);

}  // namespace writ
