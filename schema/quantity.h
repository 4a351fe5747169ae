#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace writ {

/// Why a text is no quantity.
enum class QuantityError {
  kFormat,   ///< Does not match the quantity pattern.
  kNumeric,  ///< The numeric part cannot be parsed.
  kSuffix,   ///< The suffix is none that is known, or its exponent is beyond ±1000.
};

/// The message for people, Kubernetes' own words.
std::string_view describe(QuantityError error);

/// A Kubernetes resource quantity: an exact decimal number of nano-units and the notation it was
/// written in. Values are capped and rounded as Kubernetes' `resource.Quantity` does.
class Quantity;

}  // namespace writ
