#include "service/arena_blocks.h"

namespace writ {

std::unique_ptr<char[]> ArenaBlocks::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!kept_.empty()) {
      std::unique_ptr<char[]> block = std::move(kept_.back());
      kept_.pop_back();
      return block;
    }
  }
  return std::make_unique_for_overwrite<char[]>(kBlock);
}

void ArenaBlocks::give_back(std::unique_ptr<char[]> block) {
  const std::scoped_lock lock(mutex_);
  if (kept_.size() < kMostKept) kept_.push_back(std::move(block));
}

}  // namespace writ
