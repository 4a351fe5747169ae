#include "schema/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace writ {
namespace {

constexpr int kNanoDigits = 9;
constexpr int kMaxExponent = 1000;
/// (2^63−1) units in nano-units.
constexpr std::string_view kBinaryCap = "9223372036854775807000000000";

struct Suffix {
  Quantity::Format format;
  int power_of_ten;
  int power_of_two;
};

struct NamedSuffix {
  std::string_view name;
  Suffix suffix;
};

using Format = Quantity::Format;

constexpr std::array<NamedSuffix, 16> kSuffixes{{
    {"", {Format::kDecimalSi, 0, 0}},
    {"n", {Format::kDecimalSi, -9, 0}},
    {"u", {Format::kDecimalSi, -6, 0}},
    {"m", {Format::kDecimalSi, -3, 0}},
    {"k", {Format::kDecimalSi, 3, 0}},
    {"M", {Format::kDecimalSi, 6, 0}},
    {"G", {Format::kDecimalSi, 9, 0}},
    {"T", {Format::kDecimalSi, 12, 0}},
    {"P", {Format::kDecimalSi, 15, 0}},
    {"E", {Format::kDecimalSi, 18, 0}},
    {"Ki", {Format::kBinarySi, 0, 10}},
    {"Mi", {Format::kBinarySi, 0, 20}},
    {"Gi", {Format::kBinarySi, 0, 30}},
    {"Ti", {Format::kBinarySi, 0, 40}},
    {"Pi", {Format::kBinarySi, 0, 50}},
    {"Ei", {Format::kBinarySi, 0, 60}},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes the digits at the front of `rest` and returns them.
std::string_view take_digits(std::string_view* rest) {
  const auto end = std::find_if_not(rest->begin(), rest->end(), is_digit);
  const auto count = static_cast<std::size_t>(end - rest->begin());
  const std::string_view digits = rest->substr(0, count);
  rest->remove_prefix(count);
  return digits;
}

bool take_sign(std::string_view* rest) {
  if (rest->empty() || (rest->front() != '-' && rest->front() != '+')) return false;
  rest->remove_prefix(1);
  return true;
}

/// True for `[eEinumkKMGTP]*[-+]?[0-9]*`, what the pattern allows behind the number.
bool is_suffix_shaped(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("eEinumkKMGTP"), text.size()));
  take_sign(&text);
  take_digits(&text);
  return text.empty();
}

std::optional<Suffix> parse_suffix(std::string_view text) {
  for (const NamedSuffix& known : kSuffixes) {
    if (known.name == text) return known.suffix;
  }
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  // from_chars reads a minus but no plus.
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (exponent < -kMaxExponent || exponent > kMaxExponent) return std::nullopt;
  return Suffix{Format::kDecimalExponent, exponent, 0};
}

/// Whether a text without a digit is zero with this suffix. Kubernetes reads most numbers in a way
/// that takes no digits for zero, and the rest, with these suffixes, in a way that refuses them.
bool may_lack_digits(const Suffix& suffix) {
  return suffix.power_of_two <= 40 && suffix.power_of_ten >= -kNanoDigits;
}

void strip_leading_zeros(std::string* digits) {
  digits->erase(0, std::min(digits->find_first_not_of('0'), digits->size()));
}

/// Multiplies a decimal digit string by 2^bits.
void shift_left(std::string* digits, int bits) {
  for (; bits > 0; bits -= 30) {
    std::uint64_t carry = 0;
    for (auto digit = digits->rbegin(); digit != digits->rend(); ++digit) {
      carry += static_cast<std::uint64_t>(*digit - '0') << std::min(bits, 30);
      *digit = static_cast<char>('0' + carry % 10);
      carry /= 10;
    }
    if (carry != 0) digits->insert(0, std::to_string(carry));
  }
}

void increment(std::string* digits) {
  for (auto digit = digits->rbegin(); digit != digits->rend(); ++digit) {
    if (*digit != '9') {
      ++*digit;
      return;
    }
    *digit = '0';
  }
  digits->insert(digits->begin(), '1');
}

/// Multiplies by 10^power; a fraction rounds up.
void scale(std::string* digits, int power) {
  if (digits->empty()) return;
  if (power >= 0) {
    digits->append(static_cast<std::size_t>(power), '0');
    return;
  }
  const auto dropped = std::min(static_cast<std::size_t>(-power), digits->size());
  const bool inexact =
      digits->find_first_not_of('0', digits->size() - dropped) != std::string::npos;
  digits->resize(digits->size() - dropped);
  if (inexact) increment(digits);
}

std::strong_ordering compare_magnitudes(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

std::size_t trailing_zeros(std::string_view digits) {
  return digits.size() - (digits.find_last_not_of('0') + 1);
}

/// The suffix for 10^exponent, a multiple of three from -9 to 18.
std::string_view decimal_suffix(int exponent) {
  for (const NamedSuffix& known : kSuffixes) {
    if (known.suffix.format == Format::kDecimalSi && known.suffix.power_of_ten == exponent) {
      return known.name;
    }
  }
  return {};
}

/// The exponent of the canonical form with a decimal or an exponent suffix.
int canonical_exponent(std::string_view nanos, Format format) {
  const int exponent = static_cast<int>(trailing_zeros(nanos) / 3 * 3) - kNanoDigits;
  return std::min(exponent, format == Format::kDecimalSi ? 18 : kMaxExponent / 3 * 3);
}

/// How many digits the canonical form with this exponent has.
std::size_t mantissa_size(std::string_view nanos, int exponent) {
  return nanos.size() - static_cast<std::size_t>(exponent + kNanoDigits);
}

/// Canonical form with a decimal or an exponent suffix.
std::string canonical_decimal(const std::string& nanos, Format format) {
  const int exponent = canonical_exponent(nanos, format);
  std::string text = nanos.substr(0, mantissa_size(nanos, exponent));
  if (format == Format::kDecimalSi) {
    text += decimal_suffix(exponent);
  } else if (exponent != 0) {
    text += 'e' + std::to_string(exponent);
  }
  return text;
}

/// Canonical form with a binary suffix, of a number of units.
std::string canonical_binary(std::uint64_t units) {
  std::string_view suffix;
  for (const NamedSuffix& known : kSuffixes) {
    if (known.suffix.format != Format::kBinarySi) continue;
    if (units % (std::uint64_t{1} << known.suffix.power_of_two) == 0) suffix = known.name;
  }
  for (const NamedSuffix& known : kSuffixes) {
    if (known.name == suffix) units >>= known.suffix.power_of_two;
  }
  return std::to_string(units).append(suffix);
}

}  // namespace

std::string_view describe(QuantityError error) {
  switch (error) {
    case QuantityError::kFormat:
      return "quantities must match the regular expression "
             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    case QuantityError::kNumeric:
      return "unable to parse numeric part of quantity";
    case QuantityError::kSuffix:
      return "unable to parse quantity's suffix";
  }
  return {};
}

std::variant<Quantity, QuantityError> Quantity::parse(std::string_view text) {
  if (text.empty()) return QuantityError::kFormat;
  std::string_view rest = text;
  const bool negative = rest.front() == '-';
  take_sign(&rest);
  const std::string_view whole = take_digits(&rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(&rest);
  }
  if (!is_suffix_shaped(rest)) return QuantityError::kFormat;
  const std::optional<Suffix> suffix = parse_suffix(rest);
  if (!suffix) return QuantityError::kSuffix;
  const std::size_t digits = whole.size() + fraction.size();
  if (digits > kMaxQuantityDigits) return QuantityError::kNumeric;
  if (digits == 0 && !may_lack_digits(*suffix)) return QuantityError::kNumeric;

  Quantity quantity;
  quantity.format_ = suffix->format;
  quantity.nanos_.append(whole).append(fraction);
  strip_leading_zeros(&quantity.nanos_);
  if (quantity.nanos_.empty()) return quantity;
  shift_left(&quantity.nanos_, suffix->power_of_two);
  scale(&quantity.nanos_, suffix->power_of_ten + kNanoDigits - static_cast<int>(fraction.size()));
  if (suffix->format == Format::kBinarySi && compare_magnitudes(quantity.nanos_, kBinaryCap) > 0) {
    quantity.nanos_ = kBinaryCap;
  }
  // The canonical form is a quantity, too.
  const int exponent = canonical_exponent(quantity.nanos_, suffix->format);
  if (mantissa_size(quantity.nanos_, exponent) > kMaxQuantityDigits) return QuantityError::kNumeric;
  quantity.negative_ = negative;
  return quantity;
}

std::string Quantity::canonical() const {
  if (is_zero()) return "0";
  std::string text;
  const bool whole = trailing_zeros(nanos_) >= kNanoDigits;
  if (format_ == Format::kBinarySi && whole) {
    std::uint64_t units = 0;
    std::from_chars(nanos_.data(), nanos_.data() + nanos_.size() - kNanoDigits, units);
    text = units < 1024 ? canonical_decimal(nanos_, Format::kDecimalSi) : canonical_binary(units);
  } else {
    text = canonical_decimal(nanos_, format_ == Format::kBinarySi ? Format::kDecimalSi : format_);
  }
  return negative_ ? "-" + text : text;
}

std::strong_ordering Quantity::operator<=>(const Quantity& other) const {
  if (negative_ != other.negative_) return other.negative_ <=> negative_;
  return negative_ ? compare_magnitudes(other.nanos_, nanos_)
                   : compare_magnitudes(nanos_, other.nanos_);
}

}  // namespace writ
