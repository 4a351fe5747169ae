#pragma once

#include <string>
#include <string_view>

namespace writ::client {

/// `text` as it may be shown on a terminal: control characters and bytes that are no UTF-8 become
/// escapes, so that nothing that somebody stored moves a cursor. `quote` (schema/quote.h) is the
/// same in quotes.
std::string printable(std::string_view text);

/// How many characters wide `text`, which is printable, is on a terminal: one each.
std::size_t width(std::string_view text);

}  // namespace writ::client
