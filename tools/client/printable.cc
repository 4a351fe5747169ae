#include "tools/client/printable.h"

#include <algorithm>

#include "schema/quote.h"

namespace writ::client {

std::string printable(std::string_view text) {
  // Go's %q escapes what is not printable; quotes and backslashes it escapes only for the quotes.
  std::string out;
  const std::string escaped = quote(text);
  for (std::size_t i = 1; i + 1 < escaped.size(); ++i) {
    if (escaped[i] == '\\' && (escaped[i + 1] == '"' || escaped[i + 1] == '\\')) ++i;
    out += escaped[i];
  }
  return out;
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace writ::client
