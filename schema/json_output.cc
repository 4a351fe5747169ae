#include "schema/json_output.h"

#include <algorithm>
#include <array>

namespace writ {
namespace {

constexpr std::size_t kControls = 0x20;

/// What follows the backslash, by byte: 0 where there is none.
constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> escapes{};
  std::fill_n(escapes.begin(), kControls, 'u');
  escapes['\b'] = 'b';
  escapes['\t'] = 't';
  escapes['\n'] = 'n';
  escapes['\f'] = 'f';
  escapes['\r'] = 'r';
  escapes['"'] = '"';
  escapes['\\'] = '\\';
  return escapes;
}();

void append_string(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  out.push_back('"');
  const char* begin = text.data();
  const char* const end = begin + text.size();
  for (const char* at = begin; at != end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    const char escape = kEscapes[byte];
    if (escape == 0) continue;
    out.append(begin, at);
    begin = at + 1;
    out.push_back('\\');
    out.push_back(escape);
    if (escape == 'u') out.append("00").append({kHex[byte >> 4], kHex[byte & 15]});
  }
  out.append(begin, end);
  out.push_back('"');
}

}  // namespace

void JsonOutput::key(std::string_view text) {
  separate();
  append_string(text, out_);
  out_.push_back(':');
  is_first_ = true;
}

void JsonOutput::text(std::string_view text) {
  separate();
  append_string(text, out_);
}

std::string JsonOutput::quoted_key(std::string_view name) {
  std::string key;
  append_string(name, key);
  key.push_back(':');
  return key;
}

}  // namespace writ
