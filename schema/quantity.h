#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace writ {

/// Why a text is no quantity.
enum class QuantityError {
  kFormat,   ///< Does not match the quantity pattern.
  kNumeric,  ///< The numeric part, or that of the canonical form, is longer than
             ///< `kMaxQuantityDigits`, or has no digit where one is due.
  kSuffix,   ///< The suffix is none that is known, or its exponent is beyond ±1000.
};

/// The message for people, Kubernetes' own words.
std::string_view describe(QuantityError error);

/// The longest numeric part that is read, digits before and after the dot together, and the longest
/// that a canonical form has. Kubernetes has no such limit; ours keeps the cost of one quantity at
/// a few microseconds, whatever is sent.
inline constexpr std::size_t kMaxQuantityDigits = 1000;

/// A Kubernetes resource quantity: an exact number of nano-units and the notation it was written
/// in. Rounded and capped as Kubernetes' `resource.Quantity` does: what is finer than 1n rounds
/// away from zero, and a number with a binary suffix is capped at ±(2^63−1). Immutable.
class Quantity {
 public:
  /// The notation that the canonical form keeps.
  enum class Format {
    kDecimalSi,        ///< `n u m k M G T P E` or no suffix.
    kDecimalExponent,  ///< `e` or `E` and a number.
    kBinarySi,         ///< `Ki Mi Gi Ti Pi Ei`.
  };

  /// Zero.
  Quantity() = default;

  /// Reads a quantity. Takes what Kubernetes takes, also digit-less oddities such as `-` or `m`,
  /// which are zero there (but not `Pi`, `Ei` or an exponent below -9). Linear in the length of
  /// `text`.
  static std::variant<Quantity, QuantityError> parse(std::string_view text);

  /// The canonical form: an integer and the largest suffix that needs no fraction, e.g. `1500m` for
  /// `1.5` and `1536Mi` for `1.5Gi`. Equal numbers in the same format have the same form, and
  /// `parse` reads it as the same number; in decimal notation when a binary number has lost its
  /// suffix, as `2000` for `1.953125Ki`.
  std::string canonical() const;

  Format format() const { return format_; }
  bool is_negative() const { return negative_; }
  bool is_zero() const { return nanos_.empty(); }

  /// This, or `ceiling` when that is less, in the notation of whichever it is. Exact.
  const Quantity& capped(const Quantity& ceiling) const {
    return ceiling < *this ? ceiling : *this;
  }

  /// Compares the numbers, exactly; the format does not matter: `1` equals `1000m`.
  std::strong_ordering operator<=>(const Quantity& other) const;
  bool operator==(const Quantity& other) const {
    return negative_ == other.negative_ && nanos_ == other.nanos_;
  }

 private:
  /// The magnitude in nano-units: decimal digits without leading zeros, empty for zero.
  std::string nanos_;
  bool negative_ = false;  ///< Never set for zero.
  Format format_ = Format::kDecimalSi;
};

}  // namespace writ
