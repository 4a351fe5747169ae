#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace writ {

/// Builds the text form of a one-dimensional PostgreSQL array, e.g. `{"a","b\"c"}`, to bind a whole
/// batch as one parameter.
class ArrayLiteral {
 public:
  void add(std::string_view text);         ///< A text element.
  void add(std::int64_t number);           ///< A number.
  void add_bytes(std::string_view bytes);  ///< A bytea element, in hex.
  std::string take() &&;

 private:
  void separate();
  std::string text_ = "{";
};

}  // namespace writ
