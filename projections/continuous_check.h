#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "projections/row_check.h"

namespace writ {

/// How the check works; the defaults are the service's.
struct ContinuousCheckOptions {
  std::chrono::milliseconds pause = std::chrono::minutes(10);  ///< Between passes.
  std::int64_t keys = 500;                                     ///< At most, in one comparison.
  /// It rests this many times as long as a comparison took, and at least `shortest_rest`.
  int rest = 9;
  std::chrono::milliseconds shortest_rest{20};
};

/// What the check tells of itself.
struct ContinuousCheckStatus {
  std::uint64_t passes = 0;       ///< Through all read models.
  std::uint64_t rows = 0;         ///< Compared in all.
  std::uint64_t differences = 0;  ///< Of the last pass, and of the one that goes on.
  std::string first;              ///< The first of these, "" when there is none.
};

/// Compares the rows of the read models with the log, again and again, on a thread and a connection
/// of its own: a few keys at a time, each in a short transaction with a snapshot of its own that
/// takes no lock anybody waits for, with rests between. A difference is confirmed in a second
/// snapshot and then told in one line, once.
class ContinuousCheck {
 public:
  using Clock = std::chrono::steady_clock;

  ContinuousCheck(std::string conninfo, ContinuousCheckOptions options,
                  std::function<void(const std::string&)> warn);
  ~ContinuousCheck();
  ContinuousCheck(const ContinuousCheck&) = delete;
  ContinuousCheck& operator=(const ContinuousCheck&) = delete;

  ContinuousCheckStatus status() const;

 private:
  void work();
  void pass();
  void check_model(Connection& connection, const FoldedModel& model);
  void found(const std::string& line);
  bool wait(std::chrono::nanoseconds time);

  const std::string conninfo_;
  const ContinuousCheckOptions options_;
  const std::function<void(const std::string&)> warn_;
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  ContinuousCheckStatus status_;
  std::uint64_t going_on_ = 0;  // differences of the pass that goes on
  std::string first_going_on_;
  std::set<std::string> told_;  // of the last pass and this one; of the thread alone
  std::set<std::string> told_before_;
  std::thread thread_;
};

}  // namespace writ
