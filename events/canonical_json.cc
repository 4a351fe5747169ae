#include "events/canonical_json.h"

#include <stdexcept>

#include "events/sha256.h"

namespace writ {
namespace {

constexpr std::size_t kDigits = 18;  // of a number; more could overflow

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && c != '"' && c != '\\') continue;
    out += text.substr(done, i - done);
    done = i + 1;
    if (byte < 0x20) {
      out += "\\u00";
      out += hex(std::string_view(&c, 1));
    } else {
      out += '\\';
      out += c;
    }
  }
  out += text.substr(done);
  out += '"';
}

void CanonicalReader::fail(std::string_view what) const {
  std::string why = "not canonical at byte ";
  why += std::to_string(at_);
  why += ": ";
  why += what;
  throw std::invalid_argument(why);
}

void CanonicalReader::expect(std::string_view literal) {
  if (at(literal)) {
    at_ += literal.size();
    return;
  }
  std::string what = "expected ";
  what += literal;
  fail(what);
}

bool CanonicalReader::take(char c) {
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

std::int64_t CanonicalReader::number() {
  const std::size_t first = at_;
  std::int64_t value = 0;
  while (at_ < text_.size() && is_digit(text_[at_]) && at_ - first < kDigits)
    value = value * 10 + (text_[at_++] - '0');
  if (at_ == first || (text_[first] == '0' && at_ - first > 1)) fail("expected a number");
  return value;
}

std::string CanonicalReader::string() {
  expect("\"");
  std::string out;
  for (;;) {
    std::size_t plain = at_;
    while (plain < text_.size() && text_[plain] != '"' && text_[plain] != '\\' &&
           static_cast<unsigned char>(text_[plain]) >= 0x20)
      ++plain;
    out += text_.substr(at_, plain - at_);
    at_ = plain;
    if (take('"')) return out;
    if (!take('\\')) fail("a string does not end");
    out += escaped();
  }
}

char CanonicalReader::escaped() {
  for (const char c : {'"', '\\'})
    if (take(c)) return c;
  expect("u00");
  const std::string_view digits = text_.substr(at_, 2);
  if (digits.size() != 2 || digits.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    fail("expected an escape");
  const char c = from_hex(digits)[0];
  if (static_cast<unsigned char>(c) >= 0x20) fail("an escape of what needs none");
  at_ += 2;
  return c;
}

void CanonicalReader::expect_end() const {
  if (at_ != text_.size()) fail("expected the end");
}

}  // namespace writ
