#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace writ::protojson {

// The text forms of ProtoJSON that are not plain JSON. Pure functions on text.

/// A whole number as JSON writes it, also as `1.0` or `1e3` while that is exact (below 2^53).
/// Nothing when it has a fraction, is not in range, or is no JSON number.
std::optional<std::int64_t> parse_int64(std::string_view text);
std::optional<std::uint64_t> parse_uint64(std::string_view text);

/// A JSON number, or `NaN`, `Infinity`, `-Infinity`. Nothing when it is out of range.
std::optional<double> parse_double(std::string_view text);

/// The number when it is whole and less than 2^53 away from zero, so that no digit was lost.
std::optional<std::int64_t> exact_integer(double number);

/// Seconds and nanoseconds; for a Duration of the same sign, for a Timestamp since 1970, where the
/// nanoseconds count forward.
struct TimeParts {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
};

/// RFC 3339 with 0 to 9 digits of fraction and `Z` or an offset, years 1 to 9999.
std::optional<TimeParts> parse_timestamp(std::string_view text);

/// RFC 3339 in UTC with 0, 3, 6 or 9 digits of fraction. Nothing outside the years 1 to 9999.
std::optional<std::string> format_timestamp(TimeParts time);

/// Decimal seconds with 0 to 9 digits of fraction and an `s`, at most 10,000 years.
std::optional<TimeParts> parse_duration(std::string_view text);

/// As read, with 0, 3, 6 or 9 digits of fraction. Nothing when out of range or of mixed sign.
std::optional<std::string> format_duration(TimeParts duration);

/// `fooBar` for `foo_bar` and back, for the paths of a FieldMask. Nothing when the way back would
/// give something else.
std::optional<std::string> to_camel_case(std::string_view snake_case);
std::optional<std::string> to_snake_case(std::string_view camel_case);

}  // namespace writ::protojson
