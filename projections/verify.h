#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "events/sha256.h"
#include "events/types.h"
#include "projections/table_build.h"

namespace writ {

/// Where a verification begins: after events that were verified before, of which somebody signed
/// the root.
struct VerifiedBefore {
  Position position;
  Digest root{};
};

/// What a verification found to be right.
struct VerifyResult {
  std::string log_id;
  Position position;      ///< Of the last event checked: the head when it began.
  Digest root{};          ///< Of the tree there.
  std::int64_t rows = 0;  ///< Rows of read models compared.
};

/// Told which part of the work it is at, too: "events" or a read model's name.
using VerifyProgress =
    std::function<void(const std::string& part, std::int64_t done, std::int64_t total)>;

/// Checks every invariant of the log on a live database, while it is written to: positions,
/// versions, times, hashes and envelopes of all events, each stream's chain, the root, the tiles,
/// and that the rows of the read models are what a fresh fold gives. A payload that is missing must
/// have been erased by an event that says so, also by one after the head: the log goes on
/// meanwhile. Reads in short transactions; needs memory for each stream, no more. With `before`,
/// events up to there are taken as verified if the tree still has that root; rows are compared all
/// the same. Throws CorruptLog naming the first position or key that is wrong, StorageUnavailable,
/// StorageError, and what `progress` throws.
VerifyResult verify(const std::string& conninfo, const std::optional<VerifiedBefore>& before,
                    const VerifyProgress& progress);

}  // namespace writ
