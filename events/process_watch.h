#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace writ {

/// Something that is said once, from any thread, and that others wait for.
class Interrupt {
 public:
  /// Throws std::system_error when the system has no file descriptor left.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void raise() noexcept;
  bool raised() const { return wait(std::chrono::milliseconds(0)); }
  /// Waits until it is raised, at most so long; whether it is.
  bool wait(std::chrono::milliseconds at_most) const;

 private:
  friend class ProcessWatch;
  int file_;
};

/// The end of a process that need not be a child, as something to wait for. It holds on to the very
/// process, not to its number, and needs no file to be opened later: a process that lives is never
/// taken for dead.
class ProcessWatch {
 public:
  /// Throws std::system_error, also when there is no such process.
  explicit ProcessWatch(pid_t pid);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  enum class Seen { kEnd, kInterrupt, kNothing };
  /// Waits for the process to end or for `interrupt`, which comes first when both are so; without a
  /// time as long as it takes.
  Seen wait(const Interrupt& interrupt,
            std::optional<std::chrono::milliseconds> at_most = std::nullopt) const;

 private:
  const pid_t pid_;
  int file_;
};

}  // namespace writ
