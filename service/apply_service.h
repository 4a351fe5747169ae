#pragma once

#include "events/connection_pool.h"
#include "projections/changed_paths.h"
#include "projections/leaf_origins.h"
#include "projections/settings_reader.h"
#include "service/connect.h"
#include "service/ready_chains.h"
#include "writ/apply/v1/apply.pb.h"

namespace writ {

/// What applying is made of; all must outlive it.
struct ApplySources {
  SettingsReader& reader;  ///< The present, in one query.
  ConnectionPool& past;    ///< Earlier points.
  LeafOrigins& origins;
};

/// `writ.apply.v1.ApplyService`: what settings do to a run. Only reads. Safe to call from any
/// thread.
class ApplyService {
 public:
  explicit ApplyService(const ApplySources& sources) : sources_(sources) {}

  /// Throws ConnectError: invalid_argument with BadRequest details for what is wrong in the
  /// request, what `resolve_point` throws for `at`, and what the readers throw.
  /// Moves what was sent out of the request and into the answer, which is to be empty and on the
  /// same arena.
  void apply_run(const RequestContext& context, apply::v1::ApplyRunRequest& request,
                 apply::v1::ApplyRunResponse* response);

 private:
  ApplySources sources_;
  ReadyChains ready_;
};

/// Serves the method. `service` must outlive the router.
void register_apply_service(Router& router, ApplyService& service);

}  // namespace writ
