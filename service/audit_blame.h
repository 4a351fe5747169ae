#pragma once

#include "projections/changed_paths.h"
#include "schema/leaf_diff.h"
#include "service/audit_point.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {

/// For each setting in effect at the end of `chain`, and each entry of a map, the event that last
/// set it, and what it hides. `chain` is that of `position`; the index of changed paths must be at
/// `position` or beyond.
audit::v1::BlameResponse blame_chain(Connection& connection, const std::vector<StoredAt>& chain,
                                     Position position, const PathFilter& filter);

}  // namespace writ
