#include "schema/quote.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "schema/printable_ranges.h"
#include "schema/utf8.h"

namespace writ {
namespace {

bool is_printable(char32_t c) {
  if (c < 0x80) return c >= ' ' && c != 0x7f;
  const auto range =
      std::lower_bound(kPrintableRanges.begin(), kPrintableRanges.end(), c,
                       [](const CodePointRange& r, char32_t value) { return r.last < value; });
  return range != kPrintableRanges.end() && range->first <= c;
}

void append_hex(std::string* out, std::uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    *out += "0123456789abcdef"[value >> shift & 0xf];
  }
}

/// The letter of a two-character escape, or 0.
char short_escape(char32_t c) {
  switch (c) {
    case '\a':
      return 'a';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\v':
      return 'v';
    case '"':
      return '"';
    case '\\':
      return '\\';
    default:
      return 0;
  }
}

void append_escaped(std::string* out, char32_t c) {
  *out += '\\';
  if (const char letter = short_escape(c)) {
    *out += letter;
  } else if (c < 0x80) {
    *out += 'x';
    append_hex(out, c, 2);
  } else if (c < 0x10000) {
    *out += 'u';
    append_hex(out, c, 4);
  } else {
    *out += 'U';
    append_hex(out, c, 8);
  }
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::optional<DecodedUtf8> next = decode_utf8(text);
    if (!next) {
      out += "\\x";
      append_hex(&out, static_cast<std::uint8_t>(text.front()), 2);
    } else if (is_printable(next->code_point) && short_escape(next->code_point) == 0) {
      out += text.substr(0, next->size);
    } else {
      append_escaped(&out, next->code_point);
    }
    text.remove_prefix(next ? next->size : 1);
  }
  return out + '"';
}

}  // namespace writ
