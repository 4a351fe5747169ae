#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace writ {

/// Appends `text` as a JSON string in the one form that envelopes have: only `"`, `\` and
/// U+0000–001F are escaped, the last as `\u00xx`.
void append_json_string(std::string& out, std::string_view text);

/// Goes through a text that has only one form. Each function throws std::invalid_argument, saying
/// at which byte, for any other.
class CanonicalReader {
 public:
  explicit CanonicalReader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string_view what) const;
  /// Passes over exactly this.
  void expect(std::string_view literal);
  /// Passes over `c` if it is next.
  bool take(char c);
  /// Whether this is next; passes over nothing.
  bool at(std::string_view literal) const { return text_.substr(at_).starts_with(literal); }
  /// A whole number from 0 on, without leading zeros.
  std::int64_t number();
  /// What append_json_string writes.
  std::string string();
  void expect_end() const;

 private:
  char escaped();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace writ
