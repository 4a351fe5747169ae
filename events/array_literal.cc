#include "events/array_literal.h"

#include "events/sha256.h"

namespace writ {

void ArrayLiteral::separate() {
  if (text_.size() > 1) text_ += ',';
}

void ArrayLiteral::add(std::string_view text) {
  separate();
  const std::size_t begin = text_.size();
  text_.resize(begin + 2 * text.size() + 2);
  char* out = text_.data() + begin;
  *out++ = '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') *out++ = '\\';
    *out++ = c;
  }
  *out++ = '"';
  text_.resize(static_cast<std::size_t>(out - text_.data()));
}

void ArrayLiteral::add(std::int64_t number) {
  separate();
  text_ += std::to_string(number);
}

void ArrayLiteral::add_bytes(std::string_view bytes) {
  separate();
  text_ += "\"\\\\x";
  text_ += hex(bytes);
  text_ += '"';
}

std::string ArrayLiteral::take() && {
  text_ += '}';
  return std::move(text_);
}

}  // namespace writ
