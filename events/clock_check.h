#pragma once

#include <chrono>
#include <optional>

#include "events/types.h"

namespace writ {

/// Holds the database's clock against the host's, and against how far it may have come since it was
/// first seen: recorded times never decrease, so one wrong clock would push every later event into
/// the future.
class ClockCheck {
 public:
  /// More than this between the two clocks is worth a line for the operator.
  static constexpr std::chrono::microseconds kSkewWorthALine = std::chrono::seconds(5);
  /// A database's clock ahead by more than this must not be recorded.
  static constexpr std::chrono::microseconds kAheadRefused = std::chrono::hours(1);

  struct Finding {
    std::chrono::microseconds skew{0};  ///< Database's clock minus the host's.
    bool worth_a_line = false;          ///< Apart, and they were not when last seen.
    std::optional<std::chrono::microseconds>
        too_far_ahead;  ///< By how much; empty when it may be recorded.
  };

  /// `running` is a clock of this host that nobody sets, e.g. the time since it booted.
  Finding check(Timestamp database, Timestamp host, std::chrono::microseconds running);

 private:
  struct Anchor {
    Timestamp database;
    std::chrono::microseconds running;
  };
  std::optional<Anchor> first_seen_;
  bool apart_ = false;
};

}  // namespace writ
