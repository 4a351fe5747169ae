#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "events/connection_pool.h"
#include "projections/bounded_cache.h"
#include "projections/changed_paths.h"

namespace writ {

/// One setting, or one entry of a map, as one version of a record says it.
struct VersionedPath {
  std::string stream;
  StreamVersion version;
  std::string path;
};

/// Tells which events the settings in effect go back to. Events never change, so neither does an
/// answer, and those that are asked for again and again are kept: at most `capacity` of them.
/// Thread-safe.
class LeafOrigins {
 public:
  /// `pool` is used for what is not known yet; `index` must follow the same log.
  LeafOrigins(ConnectionPool& pool, const ChangedPaths& index, std::size_t capacity = 256 * 1024)
      : pool_(pool), index_(index), kept_(capacity) {}

  /// For each of `wanted` the position of the event that last changed the path in its stream, up to
  /// and including that version. Throws ReadModelBehind when the index of changed paths is not
  /// there yet and does not get there in a few seconds, CorruptLog when it has nothing, and what
  /// the pool throws.
  std::vector<Position> find(const std::vector<VersionedPath>& wanted,
                             std::chrono::steady_clock::time_point deadline);

 private:
  ConnectionPool& pool_;
  const ChangedPaths& index_;
  std::mutex mutex_;
  BoundedCache<std::string, Position> kept_;
};

}  // namespace writ
