#include "schema/json_output.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace writ {
namespace {

constexpr std::size_t kControls = 0x20;
constexpr std::size_t kLongestEscape = 6;

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

char escape_of(char c) { return kEscapes[static_cast<unsigned char>(c)]; }

constexpr std::size_t kStep = sizeof(std::uint64_t);

/// How many of eight bytes, in the order of memory, come before the first that is to be escaped.
std::size_t plain_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x80 * kOnes;
  // Sets the high bit of a byte below `bound`, and of no byte before the first of them.
  const auto below = [](std::uint64_t in, std::uint64_t bound) {
    return (in - bound * kOnes) & ~in & kHighs;
  };
  const std::uint64_t escaped =
      below(bytes, kControls) | below(bytes ^ ('"' * kOnes), 1) | below(bytes ^ ('\\' * kOnes), 1);
  return static_cast<std::size_t>(std::countr_zero(escaped)) / 8;
}

std::uint64_t load(const char* from) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

/// Copies from `from`, which is in `text`, what needs no escape, and answers how much that is. May
/// write eight bytes more.
std::size_t copy_plain(std::string_view text, std::size_t from, char* out) {
  const std::size_t begin = from;
  const auto copy = [&](std::uint64_t bytes) {
    std::memcpy(out, &bytes, sizeof bytes);
    const std::size_t plain = plain_bytes(bytes);
    out += plain;
    from += plain;
    return plain == kStep;
  };
  while (text.size() - from >= kStep)
    if (!copy(load(text.data() + from))) return from - begin;
  if (text.size() >= kStep && from != text.size()) {
    // The last eight bytes without those that are copied. Zeros follow, which are to be escaped.
    const std::size_t copied = kStep - (text.size() - from);
    copy(load(text.data() + text.size() - kStep) >> (8 * copied));
  } else {
    while (from != text.size() && escape_of(text[from]) == 0) *out++ = text[from++];
  }
  return from - begin;
}

}  // namespace

void JsonOutput::text(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  separate(text.size() + 2 + kStep);
  *at_++ = '"';
  for (std::size_t from = 0;; ++from) {
    const std::size_t plain = copy_plain(text, from, at_);
    at_ += plain;
    from += plain;
    if (from == text.size()) break;
    make_room(kLongestEscape + (text.size() - from) + 1 + kStep);
    *at_++ = '\\';
    *at_++ = escape_of(text[from]);
    if (escape_of(text[from]) != 'u') continue;
    const auto byte = static_cast<unsigned char>(text[from]);
    for (const char c : {'0', '0', kHex[byte >> 4], kHex[byte & 15]}) *at_++ = c;
  }
  *at_++ = '"';
}

void JsonOutput::grow(std::size_t size) {
  const auto used = static_cast<std::size_t>(at_ - begin_);
  const std::size_t capacity = std::max(2 * static_cast<std::size_t>(end_ - begin_), used + size);
  auto larger = std::make_unique_for_overwrite<char[]>(capacity);
  std::memcpy(larger.get(), begin_, used);
  more_ = std::move(larger);
  begin_ = more_.get();
  at_ = begin_ + used;
  end_ = begin_ + capacity;
}

std::string JsonOutput::quoted(std::string_view text) {
  JsonOutput out;
  out.text(text);
  return out.take();
}

}  // namespace writ
