#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace writ::test {

/// What to run.
struct ChildOptions {
  std::vector<std::string> arguments;                   ///< The program's path first.
  std::map<std::string, std::string> environment = {};  ///< Added to the test's own.
  std::vector<std::string> without = {};                ///< Starts of names that are not passed on.
  bool as_postgres = false;              ///< Only matters as root: become `postgres`.
  std::filesystem::path directory = {};  ///< Where it starts; "" is where the test is.
};

/// A program started by a test. It is killed with this object, and by the kernel when the thread
/// that started it ends, so start children from the test's main thread.
class Child {
 public:
  /// Throws std::system_error. A program that cannot be executed exits with 127.
  explicit Child(const ChildOptions& options);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Waits for the end. Its exit code, or minus the signal that ended it; nothing when it still
  /// runs after `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit);
  bool running() { return !wait(std::chrono::milliseconds(0)); }

  /// What it has written so far.
  std::string standard_output() const;
  std::string standard_error() const;

 private:
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;  // memory files, so that nothing can block on a full pipe
  int pidfd_ = -1;
  std::optional<int> status_;
};

/// Runs a program to its end and answers its standard output. Throws std::runtime_error with its
/// standard error when it fails or takes longer than a minute.
std::string run_to_end(const ChildOptions& options);

}  // namespace writ::test
