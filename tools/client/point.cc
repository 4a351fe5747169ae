#include "tools/client/point.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "schema/quote.h"
#include "tools/client/api.h"

namespace writ::client {
namespace {

using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `15m`, `2h`, `7d`, `30s`: that long before now.
std::optional<Timestamp> time_ago(const std::string& text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  const auto count = number(std::string_view(text).substr(0, text.size() - 1));
  if (!count) return std::nullopt;
  std::int64_t unit = 0;
  switch (text.back()) {
    case 's':
      unit = 1;
      break;
    case 'm':
      unit = 60;
      break;
    case 'h':
      unit = 3600;
      break;
    case 'd':
      unit = 86400;
      break;
    default:
      return std::nullopt;
  }
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return TimeUtil::MicrosecondsToTimestamp(std::max<std::int64_t>(
      0, now.count() - static_cast<std::int64_t>(*count) * unit * 1'000'000));
}

std::optional<Timestamp> read_time(const std::string& text) {
  if (const auto past = time_ago(text)) return past;
  Timestamp time;
  const std::string whole = text.size() == 10 ? text + "T00:00:00Z" : text;
  if (!TimeUtil::FromString(whole, &time)) return std::nullopt;
  return time;
}

}  // namespace

audit::v1::Point parse_point(const std::string& text) {
  audit::v1::Point point;
  if (text == "now") return point;
  if (const auto position = number(text)) {
    point.set_position(*position);
  } else if (const auto version =
                 text.starts_with('v') ? number(std::string_view(text).substr(1)) : std::nullopt) {
    point.set_version(*version);
  } else if (const auto time = read_time(text)) {
    *point.mutable_time() = *time;
  } else {
    throw UsageError(quote(text) + " is no point in the history: give " + kPointForms);
  }
  return point;
}

Timestamp parse_time(const std::string& text) {
  if (const auto time = read_time(text)) return *time;
  throw UsageError(quote(text) + " is no time: give " + kTimeForms);
}

std::uint64_t parse_position(const std::string& text) {
  if (const auto position = number(text)) return *position;
  throw UsageError(quote(text) + " is no position: give a number, as `writ log` shows them");
}

}  // namespace writ::client
