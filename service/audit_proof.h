#pragma once

#include <functional>

#include "events/connection_pool.h"
#include "service/checkpoints.h"
#include "service/connect.h"

namespace writ {

/// What proofs are made of; all must outlive the router.
struct ProofSources {
  ConnectionPool& pool;  ///< With prepare_tile_queries.
  Checkpoints& checkpoints;
  /// Asked before a static path of the log is answered; throws ConnectError to refuse.
  std::function<void(const HttpRequest&)> may_read_log = [](const HttpRequest&) {};
  bool public_log = false;  ///< Whether shared caches may keep what the static paths answer.
};

/// Serves the part of `writ.audit.v1.AuditService` that proves: GetCheckpoint, GetInclusionProof,
/// GetConsistencyProof.
void register_proofs(Router& router, const ProofSources& sources);

/// Serves the log as C2SP tlog-tiles has it, for witnesses and other people's clients:
/// `/log/checkpoint`, `/log/tile/<L>/<N>[.p/<W>]`, `/log/tile/entries/<N>[.p/<W>]`.
void register_log_paths(Router& router, const ProofSources& sources);

}  // namespace writ
