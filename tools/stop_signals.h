#pragma once

#include <chrono>
#include <string>

namespace writ {

/// SIGINT, SIGTERM and SIGHUP as something to ask and to wait for, instead of something that
/// interrupts.
///
/// They stay blocked for as long as the process lives, in this thread and all that are started
/// later: a second Ctrl-C while the service stops changes nothing. Make one, in `main`, before the
/// first thread.
class StopSignals {
 public:
  /// Throws std::system_error when the system has no file descriptor left.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether a signal has come. One thread at a time.
  bool requested() { return wait(std::chrono::milliseconds(0)); }

  /// Waits for a signal, at most so long. True once one has come, then for ever.
  bool wait(std::chrono::milliseconds timeout);

  /// Waits for a signal, however long.
  void wait();

  /// Which signal came: "SIGTERM"; empty before.
  const std::string& name() const { return name_; }

 private:
  bool wait_milliseconds(int timeout);

  int file_ = -1;
  std::string name_;
};

}  // namespace writ
