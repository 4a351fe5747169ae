#include "schema/protojson_text.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

namespace writ::protojson {
namespace {

/// 2^53: from here on different integers are the same double.
constexpr double kInexact = 9007199254740992.0;
constexpr std::int64_t kMaxDurationSeconds = 315'576'000'000;
constexpr std::int64_t kMinTimestampSeconds = -62'135'596'800;  // 0001-01-01T00:00:00Z
constexpr std::int64_t kMaxTimestampSeconds = 253'402'300'799;  // 9999-12-31T23:59:59Z
constexpr std::int32_t kNanosPerSecond = 1'000'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view* rest) {
  std::size_t count = 0;
  while (count < rest->size() && is_digit((*rest)[count])) ++count;
  const std::string_view digits = rest->substr(0, count);
  rest->remove_prefix(count);
  return digits;
}

bool take(std::string_view* rest, char c) {
  if (!rest->starts_with(c)) return false;
  rest->remove_prefix(1);
  return true;
}

/// RFC 8259, section 6.
bool is_json_number(std::string_view text) {
  take(&text, '-');
  const std::string_view whole = take_digits(&text);
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return false;
  if (take(&text, '.') && take_digits(&text).empty()) return false;
  if (take(&text, 'e') || take(&text, 'E')) {
    if (!take(&text, '+')) take(&text, '-');
    if (take_digits(&text).empty()) return false;
  }
  return text.empty();
}

template <typename Number>
std::optional<Number> from_text(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Exactly `count` digits at the front of `rest`, removed.
std::optional<int> take_number(std::string_view* rest, std::size_t count) {
  if (rest->size() < count) return std::nullopt;
  std::string_view digits = rest->substr(0, count);
  if (take_digits(&digits).size() != count) return std::nullopt;
  const auto number = from_text<int>(rest->substr(0, count));
  rest->remove_prefix(count);
  return number;
}

/// An optional dot and 1 to 9 digits, as nanoseconds.
std::optional<std::int32_t> take_fraction(std::string_view* rest) {
  if (!take(rest, '.')) return 0;
  const std::string_view digits = take_digits(rest);
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  return from_text<std::int32_t>(std::string(digits).append(9 - digits.size(), '0'));
}

/// A dot and 3, 6 or 9 digits, or nothing.
std::string format_fraction(std::int32_t nanos) {
  if (nanos == 0) return "";
  std::string digits = std::to_string(nanos);
  digits.insert(0, 9 - digits.size(), '0');
  if (nanos % 1'000'000 == 0) {
    digits.resize(3);
  } else if (nanos % 1'000 == 0) {
    digits.resize(6);
  }
  return "." + digits;
}

/// `Z` or `+hh:mm`, as seconds east of UTC.
std::optional<std::int64_t> take_offset(std::string_view* rest) {
  if (take(rest, 'Z')) return 0;
  const bool west = rest->starts_with('-');
  if (!west && !rest->starts_with('+')) return std::nullopt;
  rest->remove_prefix(1);
  const auto hours = take_number(rest, 2);
  if (!hours || !take(rest, ':')) return std::nullopt;
  const auto minutes = take_number(rest, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::int64_t seconds = *hours * 3600 + *minutes * 60;
  return west ? -seconds : seconds;
}

/// `yyyy-mm-dd` as seconds since 1970.
std::optional<std::int64_t> take_date(std::string_view* rest) {
  const auto year = take_number(rest, 4);
  if (!year || !take(rest, '-')) return std::nullopt;
  const auto month = take_number(rest, 2);
  if (!month || !take(rest, '-')) return std::nullopt;
  const auto day = take_number(rest, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::sys_days(date)).time_since_epoch().count();
}

/// `hh:mm:ss` as seconds.
std::optional<std::int64_t> take_clock(std::string_view* rest) {
  const auto hours = take_number(rest, 2);
  if (!hours || !take(rest, ':')) return std::nullopt;
  const auto minutes = take_number(rest, 2);
  if (!minutes || !take(rest, ':')) return std::nullopt;
  const auto seconds = take_number(rest, 2);
  if (!seconds || *hours > 23 || *minutes > 59 || *seconds > 59) return std::nullopt;
  return *hours * 3600 + *minutes * 60 + *seconds;
}

void append_padded(std::string* out, unsigned number, std::size_t width) {
  const std::string digits = std::to_string(number);
  out->append(width - digits.size(), '0').append(digits);
}

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

std::optional<std::int64_t> exact_integer(double number) {
  if (!(std::abs(number) < kInexact) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> parse_int64(std::string_view text) {
  if (!is_json_number(text)) return std::nullopt;
  if (const auto number = from_text<std::int64_t>(text)) return number;
  const auto number = from_text<double>(text);
  // Digits alone that did not fit above are out of range.
  if (!number || text.find_first_of(".eE") == std::string_view::npos) return std::nullopt;
  return exact_integer(*number);
}

std::optional<std::uint64_t> parse_uint64(std::string_view text) {
  if (!is_json_number(text)) return std::nullopt;
  if (const auto number = from_text<std::uint64_t>(text)) return number;
  const auto number = parse_int64(text);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::optional<double> parse_double(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (!is_json_number(text)) return std::nullopt;
  return from_text<double>(text);
}

std::optional<TimeParts> parse_timestamp(std::string_view text) {
  const auto date = take_date(&text);
  if (!date || !take(&text, 'T')) return std::nullopt;
  const auto clock = take_clock(&text);
  if (!clock) return std::nullopt;
  const auto nanos = take_fraction(&text);
  if (!nanos) return std::nullopt;
  const auto offset = take_offset(&text);
  if (!offset || !text.empty()) return std::nullopt;
  const TimeParts time{*date + *clock - *offset, *nanos};
  if (time.seconds < kMinTimestampSeconds || time.seconds > kMaxTimestampSeconds) {
    return std::nullopt;
  }
  return time;
}

std::optional<std::string> format_timestamp(TimeParts time) {
  if (time.seconds < kMinTimestampSeconds || time.seconds > kMaxTimestampSeconds ||
      time.nanos < 0 || time.nanos >= kNanosPerSecond) {
    return std::nullopt;
  }
  const std::chrono::sys_seconds moment{std::chrono::seconds(time.seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(moment - day);
  std::string out;
  append_padded(&out, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  append_padded(&(out += '-'), static_cast<unsigned>(date.month()), 2);
  append_padded(&(out += '-'), static_cast<unsigned>(date.day()), 2);
  append_padded(&(out += 'T'), static_cast<unsigned>(clock.hours().count()), 2);
  append_padded(&(out += ':'), static_cast<unsigned>(clock.minutes().count()), 2);
  append_padded(&(out += ':'), static_cast<unsigned>(clock.seconds().count()), 2);
  return out + format_fraction(time.nanos) + "Z";
}

std::optional<TimeParts> parse_duration(std::string_view text) {
  const bool negative = take(&text, '-');
  const std::string_view whole = take_digits(&text);
  const auto seconds = from_text<std::int64_t>(whole);
  const auto nanos = take_fraction(&text);
  if (!seconds || !nanos || text != "s") return std::nullopt;
  if (*seconds > kMaxDurationSeconds || (*seconds == kMaxDurationSeconds && *nanos != 0)) {
    return std::nullopt;
  }
  return negative ? TimeParts{-*seconds, -*nanos} : TimeParts{*seconds, *nanos};
}

std::optional<std::string> format_duration(TimeParts duration) {
  const bool mixed =
      (duration.seconds > 0 && duration.nanos < 0) || (duration.seconds < 0 && duration.nanos > 0);
  if (mixed || duration.seconds < -kMaxDurationSeconds || duration.seconds > kMaxDurationSeconds ||
      duration.nanos <= -kNanosPerSecond || duration.nanos >= kNanosPerSecond) {
    return std::nullopt;
  }
  const bool negative = duration.seconds < 0 || duration.nanos < 0;
  return (negative ? "-" : "") + std::to_string(std::abs(duration.seconds)) +
         format_fraction(std::abs(duration.nanos)) + "s";
}

std::optional<std::string> to_camel_case(std::string_view snake_case) {
  std::string out;
  bool after_underscore = false;
  for (const char c : snake_case) {
    if (is_upper(c) || (after_underscore && !is_lower(c))) return std::nullopt;
    if (c != '_') out += after_underscore ? static_cast<char>(c - 'a' + 'A') : c;
    after_underscore = c == '_';
  }
  if (after_underscore) return std::nullopt;
  return out;
}

std::optional<std::string> to_snake_case(std::string_view camel_case) {
  std::string out;
  for (const char c : camel_case) {
    if (c == '_') return std::nullopt;
    if (is_upper(c)) {
      out += '_';
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace writ::protojson
