#pragma once

#include <string>

#include "events/connection_pool.h"
#include "events/sequencer.h"
#include "projections/changed_paths.h"
#include "service/checkpoints.h"
#include "service/connect.h"

namespace writ {

/// What the admin API is made of; all must outlive it.
struct AdminSources {
  std::string conninfo;  ///< Each long piece of work makes connections of its own.
  Sequencer& sequencer;  ///< Has the erasure's domain.
  Checkpoints& checkpoints;
  ConnectionPool& pool;
  const ChangedPaths& changed_paths;
};

/// Serves `writ.admin.v1.AdminService`: rebuild, verify, export and erase. At most two of the long
/// ones at a time. `sources` must outlive the router.
void register_admin_service(Router& router, const AdminSources& sources);

}  // namespace writ
