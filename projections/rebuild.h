#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "projections/folded_model.h"
#include "projections/table_build.h"

namespace writ {

/// What a rebuild did.
struct RebuildResult {
  std::int64_t events = 0;  ///< Position that the read model is at.
  std::int64_t rows = 0;    ///< Its rows.
};

/// How much of a rebuild is one step, and how long it waits for a moment in which to switch.
struct RebuildPace {
  std::int64_t streams = 10'000;
  std::int64_t events = 5'000;
  std::chrono::seconds patience{60};
};

/// Builds the table of a read model anew from position 1, beside the live one, and puts it in the
/// live one's place. Readers and writers go on meanwhile: readers see the old table until the
/// switch, complete, and the new one after it, complete; writers wait for that one short
/// transaction. When it is interrupted – `progress` throws, the process or the database dies –
/// nothing has changed but that the next rebuild goes on where this one was. Throws CorruptLog for
/// an event type that the fold does not know, StorageUnavailable, StorageError.
RebuildResult rebuild(const std::string& conninfo, const FoldedModel& model,
                      const WorkProgress& progress, const RebuildPace& pace = {});

/// The same for the index of changed settings. What an erased event had changed cannot be told from
/// the log any more, so those rows are taken over from the live index.
RebuildResult rebuild_changed_paths(const std::string& conninfo, const WorkProgress& progress,
                                    const RebuildPace& pace = {});

}  // namespace writ
