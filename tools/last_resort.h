#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace writ {

/// Ends the process when stopping takes too long, as it does while a database that neither answers
/// nor fails holds a thread. Nothing acknowledged is lost: an answer follows its commit.
class LastResort {
 public:
  LastResort() = default;
  /// All is well: stopping is done.
  ~LastResort();
  LastResort(const LastResort&) = delete;
  LastResort& operator=(const LastResort&) = delete;

  /// From now on there is this much time. Then it says so on standard error and the process ends
  /// with exit code 1. At most once.
  void arm(std::chrono::milliseconds time);

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace writ
