#pragma once

#include "events/connection_pool.h"
#include "projections/changed_paths.h"
#include "service/change_feed.h"
#include "service/connect.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {

/// What WatchChanges is made of; all must outlive the router.
struct WatchSources {
  ConnectionPool& pool;
  const ChangedPaths& changed_paths;
  ChangeFeed& feed;
};

/// Serves WatchChanges: first what is in the log after the caller's position, page by page, then
/// each change as it comes, from the feed. Refuses to begin in the future (out_of_range). A
/// heartbeat says every 10 s how far everything was sent. While the database is away it waits. Who
/// reads more slowly than changes come is cut with resource_exhausted and the position to resume
/// from.
void register_watch(Router& router, const WatchSources& sources);

}  // namespace writ
