#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "events/checkpoint.h"

namespace writ {

/// An export is not what it should be. The text says what is wrong first, and where.
class BadExport : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What an export has to agree with.
struct ExportTrust {
  Checkpoint checkpoint;          ///< Of all its events.
  std::optional<Checkpoint> old;  ///< Of the first of them.
};

/// What was checked.
struct CheckedExport {
  std::int64_t events = 0;
  std::int64_t rows = 0;
};

/// Recomputes an export (projections/export.h) from its bytes alone: every hash, each stream's
/// chain, the root, that it is of the checkpoint and continues the old one, and that its rows are
/// the fold of its events. Needs memory for each stream, no more. Throws BadExport, and what
/// `progress`, told bytes, throws.
CheckedExport check_export(
    const std::filesystem::path& file, const ExportTrust& trust,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress);

}  // namespace writ
