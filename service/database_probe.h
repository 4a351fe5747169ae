#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "events/connection.h"
#include "events/types.h"

namespace writ {

/// Asks the database for the log's head, on a thread and a connection of its own, so that nobody
/// who wants to know waits for longer than they like, even while the database hangs.
class DatabaseProbe {
 public:
  /// `conninfo` has its session settings already. Connects when first asked.
  explicit DatabaseProbe(std::string conninfo);
  ~DatabaseProbe();
  DatabaseProbe(const DatabaseProbe&) = delete;
  DatabaseProbe& operator=(const DatabaseProbe&) = delete;

  struct Finding {
    std::string trouble;  ///< "" when the database answered.
    Position head;        ///< Of the log; while there is trouble, what was last seen.
  };
  /// Asks anew and waits for that answer for at most `patience`. Safe from any thread.
  Finding ask(std::chrono::milliseconds patience);

 private:
  void work();
  Finding look();
  Position read_head();

  const std::string conninfo_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::condition_variable answered_;
  std::uint64_t wanted_ = 0;  // number of the newest question
  std::uint64_t begun_ = 0;
  std::uint64_t done_ = 0;
  Finding finding_;
  bool stopping_ = false;
  std::unique_ptr<Connection> connection_;  // the pointer is set and taken under the lock
  std::thread thread_;
};

}  // namespace writ
