#pragma once

#include <string>
#include <string_view>

namespace writ {

/// `text` in double quotes with Go's escapes, byte for byte what Go's `%q` prints: `\a \b \f \n \r
/// \t \v`, `\x..` for other control characters and for bytes that are no UTF-8, `\u....` and
/// `\U........` for characters that are not printable. Takes any bytes.
std::string quote(std::string_view text);

}  // namespace writ
