#include "service/json_text.h"

#include <algorithm>

#include "schema/utf8.h"

namespace writ {
namespace {

// The size of the character at the front of `text`, 0 when it is not UTF-8.
std::size_t character_size(std::string_view text) {
  if (static_cast<unsigned char>(text[0]) < 0x80) return 1;
  const auto decoded = decode_utf8(text);
  return decoded ? decoded->size : 0;
}

void append_escape(unsigned char c, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      out->append("\\u00").append(1, kHex[c >> 4]).append(1, kHex[c & 15]);
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

void append_json_string(std::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (size == 0) {
      out->append("\xef\xbf\xbd");
    } else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
      append_escape(c, out);
    } else {
      out->append(text.substr(0, size));
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  out->push_back('"');
}

std::string error_json(std::string_view code, std::string_view message) {
  std::string out = "{\"code\":";
  append_json_string(code, &out);
  if (!message.empty()) {
    out.append(",\"message\":");
    append_json_string(message, &out);
  }
  out.push_back('}');
  return out;
}

}  // namespace writ
