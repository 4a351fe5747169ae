#pragma once

#include <cstdint>
#include <string>

#include "events/types.h"
#include "projections/table_build.h"

namespace writ {

/// What a check of the index of changed settings found to be right.
struct CheckedIndex {
  Position position;      ///< That the index was at when the check began.
  std::int64_t rows = 0;  ///< Its rows about events up to there.
};

/// Compares the index of changed settings with what the events changed, told anew from the log into
/// a temporary table, while both are written to. Takes many times as long as a check of the
/// settings, and as much room on the database's disk as the index; no memory to speak of. Rows
/// about events whose content was erased, or that of the event before, cannot be told any more and
/// are taken as they are. Throws CorruptLog naming the first position whose rows differ,
/// StorageUnavailable, StorageError, and what `progress` throws.
CheckedIndex check_changed_paths(const std::string& conninfo, const WorkProgress& progress);

}  // namespace writ
