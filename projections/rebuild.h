#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "events/domain.h"

namespace writ {

/// What a rebuild did.
struct RebuildResult {
  std::int64_t events = 0;  ///< Positions read: the head.
  std::int64_t rows = 0;    ///< Rows of the read model now.
};

/// Empties the table of an inline projection and folds the whole log into it anew, from position 1,
/// in one transaction under the head's lock: readers see the old rows until it commits, writers
/// wait, and when it fails or is interrupted nothing has changed. `table` is the projection's only
/// table. `known_types` are the event types that the fold understands for its streams; another one
/// stops the rebuild. `progress` is told positions done and the head. Throws CorruptLog,
/// StorageUnavailable, StorageError.
RebuildResult rebuild(const std::string& conninfo, const InlineProjection& projection,
                      const std::string& table, const std::string& stream_prefix,
                      const std::vector<std::string>& known_types,
                      const std::function<void(std::int64_t done, std::int64_t head)>& progress);

}  // namespace writ
