#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace writ {

/// Memory for the arenas of requests that are not small: a few blocks, passed from one request to
/// the next while they are warm. Thread-safe.
class ArenaBlocks {
 public:
  static constexpr std::size_t kBlock = std::size_t{64} << 10;

  ArenaBlocks() { kept_.reserve(kMostKept); }

  /// A block for as long as this lives, which must end before the blocks do.
  class Lease {
   public:
    explicit Lease(ArenaBlocks& from) : from_(from), block_(from.take()) {}
    ~Lease() { from_.give_back(std::move(block_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    char* data() const { return block_.get(); }

   private:
    ArenaBlocks& from_;
    std::unique_ptr<char[]> block_;
  };

 private:
  static constexpr std::size_t kMostKept = 16;

  std::unique_ptr<char[]> take();
  void give_back(std::unique_ptr<char[]> block);

  std::mutex mutex_;
  std::vector<std::unique_ptr<char[]>> kept_;
};

}  // namespace writ
