#include "events/clock_check.h"

#include <algorithm>

namespace writ {

ClockCheck::Finding ClockCheck::check(Timestamp database, Timestamp host,
                                      std::chrono::microseconds running) {
  if (!first_seen_) first_seen_ = Anchor{database, running};
  Finding finding;
  finding.skew = database - host;
  const bool apart = std::chrono::abs(finding.skew) > kSkewWorthALine;
  finding.worth_a_line = apart && !apart_;
  apart_ = apart;
  const std::chrono::microseconds jump =
      (database - first_seen_->database) - (running - first_seen_->running);
  if (const auto ahead = std::max(finding.skew, jump); ahead > kAheadRefused)
    finding.too_far_ahead = ahead;
  return finding;
}

}  // namespace writ
