#pragma once

#include <cstddef>
#include <string_view>

namespace writ::fuzz {

/// What a second JSON parser says of a text.
struct JsonVerdict {
  bool well_formed = false;      ///< RFC 8259, in UTF-8, with one value and nothing behind it.
  bool repeated_name = false;    ///< Some object has a name twice.
  bool lone_surrogate = false;   ///< Some string has an escape that is half a character.
  bool doubtful_number = false;  ///< Some number may be out of the range of doubles or 64 bits.
  bool root_is_object = false;
  std::size_t depth = 0;
};

/// Judges a text with another parser than the code under test does.
JsonVerdict judge_json(std::string_view text);

}  // namespace writ::fuzz
