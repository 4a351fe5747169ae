#include "tools/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

namespace writ {
namespace {

constexpr std::chrono::milliseconds kOnTerminal{100};
constexpr std::chrono::seconds kElsewhere{2};

}  // namespace

ProgressLine::ProgressLine(std::string what, std::string unit)
    : what_(std::move(what)), unit_(std::move(unit)), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (open_) std::cerr << std::endl;
}

void ProgressLine::show(const std::string& part, std::int64_t done, std::int64_t total) {
  const auto now = Clock::now();
  if (part != part_ || begun_ == Clock::time_point()) {
    part_ = part;
    begun_ = now;
    first_ = done;
  }
  if (now < next_ && done != total) return;
  next_ = now + (terminal_ ? std::chrono::nanoseconds(kOnTerminal) : kElsewhere);
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  std::cerr << (terminal_ ? "\r\033[K" : "") << "writ: " << what_ << ": "
            << (part.empty() ? "" : part + ", ") << done << " of " << std::max(done, total) << ' '
            << unit_;
  if (seconds > 0 && done > first_) {
    const double rate = static_cast<double>(done - first_) / seconds;
    std::cerr << ", " << static_cast<std::int64_t>(rate) << "/s, "
              << static_cast<std::int64_t>(static_cast<double>(std::max(done, total) - done) / rate)
              << " s left";
  }
  std::cerr << (terminal_ ? "" : "\n") << std::flush;
  open_ = terminal_;
}

}  // namespace writ
