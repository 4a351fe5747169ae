#include "service/memory_budget.h"

#include <algorithm>

namespace writ {

MemoryBudget::Share& MemoryBudget::Share::operator=(Share&& other) noexcept {
  shrink(0);
  budget_ = std::exchange(other.budget_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  incoming_ = other.incoming_;
  return *this;
}

void MemoryBudget::Share::shrink(std::size_t bytes) {
  if (bytes >= bytes_) return;
  budget_->give_back(bytes_ - bytes, incoming_);
  bytes_ = bytes;
}

bool MemoryBudget::grow(Share& share, std::size_t bytes) {
  if (bytes <= share.bytes_) return true;
  if (share.budget_ == nullptr) share = Share(this, 0, true);
  const std::size_t more = bytes - share.bytes_;
  const std::lock_guard lock(mutex_);
  if (incoming_ + more > bytes_ / 2 || used_ + more > bytes_) return false;
  used_ += more;
  incoming_ += more;
  share.bytes_ = bytes;
  return true;
}

std::optional<MemoryBudget::Share> MemoryBudget::wait_for(std::size_t bytes,
                                                          Clock::time_point deadline) {
  bytes = std::min(bytes, bytes_ - bytes_ / 2);
  std::unique_lock lock(mutex_);
  if (!waiting_.empty() || used_ + bytes > bytes_) {
    const auto place = waiting_.insert(waiting_.end(), Waiting{});
    const bool mine = changed_.wait_until(
        lock, deadline, [&] { return place == waiting_.begin() && used_ + bytes <= bytes_; });
    waiting_.erase(place);
    changed_.notify_all();  // another one is the first now
    if (!mine) return std::nullopt;
  }
  used_ += bytes;
  return Share(this, bytes, false);
}

std::size_t MemoryBudget::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void MemoryBudget::give_back(std::size_t bytes, bool incoming) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  if (incoming) incoming_ -= bytes;
  if (!waiting_.empty()) changed_.notify_all();
}

}  // namespace writ
