#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace writ::test {

/// A JSON value with members in the order they were given, and the tests' own: what the product
/// reads and writes is held against it.
class Json {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  using Member = std::pair<std::string, Json>;

  Json() = default;
  Json(const char* text) : kind_(Kind::kString), text_(text) {}
  Json(std::string text) : kind_(Kind::kString), text_(std::move(text)) {}
  static Json boolean(bool value);
  static Json number(long value) { return number(std::to_string(value)); }
  static Json number(std::string digits);
  static Json object(std::vector<Member> members = {});
  static Json array(std::vector<Json> elements = {});

  /// Throws std::runtime_error.
  static Json parse(std::string_view text);
  /// Without white space, members in their order; only `"`, `\` and control characters escaped.
  std::string dump() const;

  Kind kind() const { return kind_; }
  bool is_object() const { return kind_ == Kind::kObject; }
  /// Of a string its characters, of a number its digits, of a boolean `true` or `false`.
  const std::string& text() const { return text_; }
  const std::vector<Member>& members() const { return members_; }
  std::vector<Member>& members() { return members_; }
  const std::vector<Json>& elements() const { return elements_; }
  std::vector<Json>& elements() { return elements_; }

  /// Null when there is none.
  const Json* find(std::string_view name) const;
  Json* find(std::string_view name);
  /// Throws std::runtime_error naming what is missing.
  const Json& at(std::string_view name) const;
  /// The member, added when it is missing; a null becomes an object.
  Json& operator[](std::string_view name);
  void erase(std::string_view name);

  /// Equal as JSON: the order of members does not matter.
  friend bool operator==(const Json& a, const Json& b);
  friend std::ostream& operator<<(std::ostream& out, const Json& value);

 private:
  Kind kind_ = Kind::kNull;
  std::string text_;
  std::vector<Member> members_;
  std::vector<Json> elements_;
};

}  // namespace writ::test
