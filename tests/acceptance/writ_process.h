#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/acceptance/child.h"
#include "tests/support/test_database.h"

namespace writ::test {

/// The options that make `writ serve` or `writ rebuild` work on this database: served as writ_app,
/// migrated as the superuser.
std::vector<std::string> on(const TestDatabase& database);

/// `writ serve` as a process of its own, on a port of its own of the loopback address.
class WritProcess {
 public:
  /// Starts with `--listen 127.0.0.1:0`, which `arguments` may overrule, and waits until it serves.
  /// Throws std::runtime_error with what it said when it ends instead, or takes too long.
  explicit WritProcess(std::vector<std::string> arguments,
                       std::map<std::string, std::string> environment = {});
  explicit WritProcess(const TestDatabase& database) : WritProcess(on(database)) {}
  /// Only starts.
  enum DoNotWait { kDoNotWait };
  WritProcess(std::vector<std::string> arguments, std::map<std::string, std::string> environment,
              DoNotWait);

  /// Waits until it serves; throws as the constructor does.
  void await_serving();
  /// Waits until standard error has `words` in it; false when it has not in time.
  bool await_log(const std::string& words) const;

  std::uint16_t port() const { return port_; }
  pid_t pid() const { return child_->pid(); }
  /// Standard error so far.
  std::string log() const { return child_->standard_error(); }
  /// The same without the lines about single requests.
  std::string news() const;
  bool running() { return child_->running(); }
  /// A figure of /proc/PID/status in KiB, such as VmRSS (resident now) or VmHWM (at most, ever).
  long memory_kib(const std::string& name) const;

  /// Tells it to stop and waits. Its exit code; -1 when it is still there after `limit`.
  int stop(std::chrono::milliseconds limit = std::chrono::seconds(15));
  void signal(int number) { child_->signal(number); }
  int wait(std::chrono::milliseconds limit);
  /// kill -9, and waits until it is gone.
  void kill_hard();

 private:
  std::unique_ptr<Child> child_;
  std::uint16_t port_ = 0;
};

/// Whether the program's memory and speed are its own: a sanitizer takes much for itself.
#ifdef WRIT_SANITIZED
inline constexpr bool kUnsanitized = false;
#else
inline constexpr bool kUnsanitized = true;
#endif

/// How a run of the program ended.
struct WritRun {
  int status = -1;  ///< Its exit code; -1 when it did not end in time.
  std::string out, err;
};

/// Runs the program until it ends by itself, or kills it after `limit`.
WritRun run_writ(std::vector<std::string> arguments,
                 std::map<std::string, std::string> environment = {},
                 std::chrono::milliseconds limit = std::chrono::seconds(30));

/// The program under test.
std::string writ_program();

}  // namespace writ::test
