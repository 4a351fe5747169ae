#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

namespace writ {

/// The memory that all requests of a server share for what clients sent. Bodies on their way in
/// take at most half of it and never wait. Whole ones that are worked on, inflated and parsed, may
/// take all that is free and wait for their turn; so half-sent bodies cannot stop them. Safe from
/// many threads.
class MemoryBudget {
 public:
  using Clock = std::chrono::steady_clock;

  /// What one request has taken. Gives it back when it ends.
  class Share {
   public:
    Share() = default;
    ~Share() { shrink(0); }
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    std::size_t bytes() const { return bytes_; }
    /// Gives back what is above `bytes`.
    void shrink(std::size_t bytes);

   private:
    friend class MemoryBudget;
    Share(MemoryBudget* budget, std::size_t bytes, bool incoming)
        : budget_(budget), bytes_(bytes), incoming_(incoming) {}

    MemoryBudget* budget_ = nullptr;
    std::size_t bytes_ = 0;
    bool incoming_ = false;
  };

  explicit MemoryBudget(std::size_t bytes) : bytes_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// For a body on its way in: makes an empty share, or one from here before, this large. False,
  /// and the share unchanged, when that is more than there is.
  [[nodiscard]] bool grow(Share& share, std::size_t bytes);

  /// For working on a whole body: waits until that much is free, or the deadline. More than half
  /// of the whole counts as half, so that everybody's turn comes.
  std::optional<Share> wait_for(std::size_t bytes, Clock::time_point deadline);

  std::size_t used() const;

 private:
  struct Waiting {};

  void give_back(std::size_t bytes, bool incoming);

  const std::size_t bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t used_ = 0;
  std::size_t incoming_ = 0;    // of it
  std::list<Waiting> waiting_;  // in the order they came
};

}  // namespace writ
