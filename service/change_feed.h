#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "events/history.h"
#include "events/log_follower.h"
#include "service/connect.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {

/// One change of the newest, ready for whoever watches.
struct FedChange {
  RecordedEvent event;
  audit::v1::Change change;
  SharedMessage response;  ///< WatchChangesResponse.
};

/// The newest changes of the log, read once and encoded once a codec for all who watch. Keeps at
/// most 8,192 of them and 32 MiB; who falls behind these is told so. While nobody watches it reads
/// nothing.
class ChangeFeed {
 public:
  using Clock = std::chrono::steady_clock;

  ChangeFeed(std::string conninfo, const LogFollower& follower);
  ~ChangeFeed();
  ChangeFeed(const ChangeFeed&) = delete;
  ChangeFeed& operator=(const ChangeFeed&) = delete;

  /// Keeps the feed going while it lives.
  class Watcher {
   public:
    explicit Watcher(ChangeFeed& feed);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

   private:
    ChangeFeed& feed_;
  };

  struct News {
    bool behind = false;  ///< What follows the position is no longer, or not yet, kept.
    std::vector<std::shared_ptr<const FedChange>> changes;  ///< In the order of positions.
    Position up_to;                                         ///< All until here is in `changes`.
  };
  /// What is kept after `position`; waits until `deadline` for something to be. Only while a
  /// Watcher of the caller lives.
  News wait_after(Position position, Clock::time_point deadline) const;

 private:
  void work();
  void follow();
  bool wanted() const;
  void add(const EventInHistory& one);

  const std::string conninfo_;
  const LogFollower& follower_;
  mutable std::mutex mutex_;
  mutable std::condition_variable moved_;
  std::size_t watchers_ = 0;
  bool stopping_ = false;
  bool following_ = false;
  Position before_, last_;  // what is kept: everything in (before_, last_]
  std::deque<std::shared_ptr<const FedChange>> kept_;
  std::size_t kept_bytes_ = 0;
  std::thread thread_;
};

}  // namespace writ
