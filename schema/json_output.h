#pragma once

#include <string>
#include <string_view>

namespace writ {

/// Appends a JSON text without white space, piece by piece; what is appended must make sense in
/// this order. Commas come by themselves.
class JsonOutput {
 public:
  /// Appends to `out`, which must outlive it.
  explicit JsonOutput(std::string* out) : out_(*out) {}

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }

  void key(std::string_view text);
  /// A name that `quoted_key` was made of.
  void key_of(std::string_view quoted) {
    separate();
    out_.append(quoted);
    is_first_ = true;
  }
  /// A string. Of its bytes only `"`, `\` and those below 0x20 are escaped: with their letter where
  /// JSON has one, else as \u00XX.
  void text(std::string_view text);
  /// A number, a literal: written as it is.
  void plain(std::string_view text) {
    separate();
    out_.append(text);
  }

  /// A name as it stands before its value: quoted, escaped, with the colon.
  static std::string quoted_key(std::string_view name);

 private:
  void separate() {
    if (!is_first_) out_.push_back(',');
    is_first_ = false;
  }
  void begin(char bracket) {
    separate();
    out_.push_back(bracket);
    is_first_ = true;
  }
  void end(char bracket) {
    out_.push_back(bracket);
    is_first_ = false;
  }

  std::string& out_;
  bool is_first_ = true;  // what comes next follows a bracket, a name, or nothing
};

}  // namespace writ
