#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace writ {

/// Standard base64 with padding (RFC 4648, section 4).
std::string encode_base64(std::string_view bytes);

/// Reads base64 in the standard or the URL-safe alphabet, padded or not. Nothing when a character
/// is foreign, the padding is wrong, or the bits behind the last byte are not zero.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace writ
