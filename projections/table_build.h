#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "events/connection.h"
#include "events/types.h"

namespace writ {

/// Told how far a piece of work is. Throws to interrupt it.
using WorkProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// The table of a read model being built anew beside the live one, in the schema `writ_build`,
/// under the same name. On its connection the name means the table that is built. One build of a
/// read model at a time; each step is a transaction, so that another TableBuild goes on where this
/// one ended, however it ended. Throws StorageUnavailable and StorageError.
class TableBuild {
 public:
  /// Begins, or goes on with what an interrupted one left. `version` is that of the fold.
  /// `first_pass`: streams are folded whole before events are followed. Throws CorruptLog when
  /// there is no such read model; StorageUnavailable when somebody else builds it.
  TableBuild(const std::string& conninfo, std::string name, int version, bool first_pass);

  Connection& connection() { return connection_; }
  const std::string& name() const { return name_; }

  /// Where the build is.
  struct State {
    Position first_head;       ///< The first pass is of the log up to here.
    bool first_pass = false;   ///< Not through yet.
    std::string after_stream;  ///< Of the first pass.
    std::int64_t events = 0;   ///< That it is through with.
    Position position;         ///< After the first pass: all up to here is in.
  };
  const State& state() const { return state_; }
  bool resumed() const { return resumed_; }

  /// Runs one step and records the state it answers, in one transaction.
  void step(const std::function<State(State)>& work);

  /// Puts the table in the place of the live one, in one transaction: `still` stops both and brings
  /// the build to the same position, which it answers; then they change places and the read model
  /// is recorded as being there. False when somebody holds the live table; nothing has changed
  /// then.
  bool try_switch(std::chrono::milliseconds lock_time, const std::function<Position()>& still);

  /// Tries again and again. `catch_up` is called before each try, to have little left to do while
  /// both stand still. Throws StorageUnavailable when it took longer than `patience`.
  void switch_over(std::chrono::seconds patience, const std::function<void()>& catch_up,
                   const std::function<Position()>& still);

 private:
  void lock();
  void load_state();
  void save_state();

  Connection connection_;
  const std::string name_;
  const int version_;
  State state_;
  bool resumed_ = false;
};

}  // namespace writ
