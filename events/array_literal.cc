#include "events/array_literal.h"

#include "events/sha256.h"

namespace writ {

void ArrayLiteral::separate() {
  if (text_.size() > 1) text_ += ',';
}

void ArrayLiteral::add(std::string_view text) {
  separate();
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') text_ += '\\';
    text_ += c;
  }
  text_ += '"';
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
