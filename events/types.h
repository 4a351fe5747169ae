#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace writ {

/// An event's number in the whole log: 1, 2, 3 … in commit order, without gaps. 0 is "before the
/// first".
struct Position {
  std::int64_t value = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

/// An event's number in its stream: 1, 2, 3 …; the optimistic lock. 0 is "no event yet".
struct StreamVersion {
  std::int64_t value = 0;
  friend auto operator<=>(const StreamVersion&, const StreamVersion&) = default;
};

/// Names one stream, e.g. `settings/v1::production:analytics`.
struct StreamName {
  std::string value;
  friend auto operator<=>(const StreamName&, const StreamName&) = default;
};

/// A point in time in UTC, to the microsecond, as PostgreSQL keeps it.
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;

/// `YYYY-MM-DDTHH:MM:SS.ffffffZ`: RFC 3339 with always six digits. Years 0000 to 9999.
std::string format_timestamp(Timestamp time);

}  // namespace writ
