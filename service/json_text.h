#pragma once

#include <string>
#include <string_view>

namespace writ {

/// Whether all of it is UTF-8 (RFC 3629).
bool is_utf8(std::string_view text);

/// Appends `text` as a JSON string with its quotes. What is not UTF-8 becomes U+FFFD.
void append_json_string(std::string_view text, std::string* out);

/// The body of a Connect error without details: `{"code":"…","message":"…"}`.
std::string error_json(std::string_view code, std::string_view message);

}  // namespace writ
