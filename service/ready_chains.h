#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

#include "projections/bounded_cache.h"
#include "projections/parsed_rows.h"
#include "schema/apply/apply.h"

namespace writ {

/// Makes chains of records ready to be applied, and keeps those that are asked for again and again:
/// a record does not change, one with a change is another. Thread-safe.
class ReadyChains {
 public:
  /// By scope; null where there is no record.
  using Records = std::array<std::shared_ptr<const StoredSettings>, 3>;

  /// Keeps about `capacity` bytes.
  explicit ReadyChains(std::size_t capacity = std::size_t{32} << 20) : kept_(capacity) {}

  std::shared_ptr<const ReadySettings> ready(const Records& records);

 private:
  struct HashOfRecords {
    std::size_t operator()(const Records& records) const;
  };

  std::mutex mutex_;
  /// The records are kept alive as long as they are a key, so that none can be taken for another.
  BoundedCache<Records, std::shared_ptr<const ReadySettings>, HashOfRecords> kept_;
};

}  // namespace writ
