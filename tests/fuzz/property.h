#pragma once

#include <stdexcept>
#include <string>

namespace writ::fuzz {

/// Thrown when an input makes the code under test break one of its promises.
class PropertyBroken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// `promise` says what should have held.
inline void require(bool holds, const char* promise) {
  if (!holds) throw PropertyBroken(std::string("broken: ") + promise);
}

}  // namespace writ::fuzz
