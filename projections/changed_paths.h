#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "events/connection.h"
#include "events/event.h"
#include "events/history.h"
#include "events/log_follower.h"
#include "flyteidl2/settings/settings_definition.pb.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {

/// The index of changed settings: which event changed which leaf, and which entry of a map. It
/// follows the log instead of moving with each append, since what changed is told by the schema and
/// not by SQL, and costs more than the append. Any number of processes may follow one log; one of
/// them works at a time. Its position in `projections` moves in the transaction of its rows.
class ChangedPaths {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts following. `conninfo` has its session settings; `warn` is told one line, when following
  /// stops because an event cannot be read.
  ChangedPaths(std::string conninfo, const LogFollower& follower,
               std::function<void(const std::string&)> warn);
  ~ChangedPaths();
  ChangedPaths(const ChangedPaths&) = delete;
  ChangedPaths& operator=(const ChangedPaths&) = delete;

  /// Waits until the index holds everything up to `position`. Throws ReadModelBehind, saying how
  /// far it is, when that takes longer than `deadline` or a few seconds; CorruptLog when it is
  /// stopped.
  void wait_for(Position position, Clock::time_point deadline) const;

 private:
  void work();
  bool stopping() const;
  Position indexed() const;
  void set_indexed(Position position);
  void wait(std::chrono::milliseconds time) const;
  /// The same, but no longer once somebody waits for what is not indexed yet.
  void wait_for_demand(std::chrono::milliseconds time) const;

  const std::string conninfo_;
  const LogFollower& follower_;
  const std::function<void(const std::string&)> warn_;
  mutable std::mutex mutex_;
  mutable std::condition_variable moved_;
  Position indexed_;
  mutable Position wanted_;  // the most that anybody waited for
  std::string stopped_why_;
  bool stopping_ = false;
  std::thread thread_;
};

/// Indexes the next events of the log, at most `limit`; answers the position the index is at then.
/// When another process is at it, nothing is done. Throws CorruptLog for what cannot be read.
Position index_changed_paths(Connection& connection, std::size_t limit);

/// Of the rows of the index; a rebuild records it.
inline constexpr int kChangedPathsVersion = 1;

/// Whether rows about events of which it cannot be told any more what they changed, since content
/// was erased, are taken over from the live table.
enum class KeepErased { kNo, kYes };

/// Adds the rows of the next events after `after`, at most `limit` and none beyond `head`, to the
/// table that the connection knows by the name. Answers the position of the last. Throws CorruptLog
/// for what cannot be read.
Position index_events(Connection& connection, Position after, Position head, std::size_t limit,
                      KeepErased keep);

/// One setting, or one entry of a map, of one record.
struct StreamPath {
  std::string stream;
  std::string path;
};

/// The position of the event that last changed each of `wanted` at or before the position of the
/// same place in `at`; nothing where none did.
std::vector<std::optional<Position>> last_positions(Connection& connection,
                                                    const std::vector<StreamPath>& wanted,
                                                    const std::vector<Position>& at);

/// The event that last changed each of `wanted` at `position`; nothing where none did.
std::vector<std::optional<RecordedEvent>> last_changes(Connection& connection,
                                                       const std::vector<StreamPath>& wanted,
                                                       Position position);

/// What an event changed, against the one before it of its stream. Content that was erased counts
/// as empty. Throws CorruptLog.
std::vector<audit::v1::LeafChange> leaf_changes(const EventInHistory& one);

/// The stored settings that `payload` of the event at `position` holds. Throws CorruptLog.
flyteidl2::settings::Settings settings_of(const std::string& payload, Position position);

}  // namespace writ
