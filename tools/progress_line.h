#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace writ {

/// Shows on standard error how far a long piece of work is, how fast it goes and how long it will
/// take: one line that changes on a terminal, a line every few seconds elsewhere.
class ProgressLine {
 public:
  /// `what` is the work, `unit` what is counted.
  ProgressLine(std::string what, std::string unit);
  /// Ends the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// A new `part` begins to count anew: the first time there is nothing to tell its pace from.
  void show(const std::string& part, std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_, unit_;
  const bool terminal_;
  std::string part_;
  Clock::time_point begun_, next_{};
  std::int64_t first_ = 0;  // where this part was when it was first heard of
  bool open_ = false;
};

}  // namespace writ
