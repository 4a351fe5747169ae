#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "events/types.h"

namespace writ {

class Connection;

/// Knows how far the log has come, for everybody in the process who waits for news. Listens for the
/// notification that each append sends, which is a hint only, and asks the database itself every
/// few seconds; while the database is away it tries again. One connection, one thread.
class LogFollower {
 public:
  using Clock = std::chrono::steady_clock;

  /// `conninfo` has its session settings. Does not wait for the database.
  explicit LogFollower(std::string conninfo);
  ~LogFollower();
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;

  /// The newest position known to be committed.
  Position head() const;

  /// Waits until the head is beyond `position`; answers the head, which is not beyond it when the
  /// deadline passed or everything stops.
  Position wait_beyond(Position position, Clock::time_point deadline) const;

  /// Wakes whoever waits, for good.
  void stop();
  bool stopped() const;

 private:
  class Listening;

  void work();
  void publish(Position head);

  const std::string conninfo_;
  mutable std::mutex mutex_;
  mutable std::condition_variable moved_;
  Position head_;
  bool stopping_ = false;
  Connection* connection_ = nullptr;  // while the thread has one
  std::thread thread_;
};

}  // namespace writ
