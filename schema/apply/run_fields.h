#pragma once

#include "flyteidl2/task/run.pb.h"
#include "schema/apply/explained.h"

namespace writ {

/// Single fields of a run, each filled where it is empty: queue, base directory, concurrency,
/// prefix of raw data, service account.
void apply_run_fields(const ResolvedSettings& resolved, flyteidl2::task::RunSpec* run,
                      Explained* explained);

/// Environment variables, labels and annotations: what the run has no key for, in key order.
void apply_run_maps(const ResolvedSettings& resolved, flyteidl2::task::RunSpec* run,
                    Explained* explained);

}  // namespace writ
