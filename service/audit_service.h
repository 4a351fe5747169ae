#pragma once

#include "events/connection_pool.h"
#include "events/log_follower.h"
#include "events/sequencer.h"
#include "projections/changed_paths.h"
#include "service/connect.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {

/// What the audit API is made of; all must outlive it.
struct AuditSources {
  ConnectionPool& pool;  ///< Of its own, so that long questions about the past hold up no read.
  Sequencer& sequencer;
  const ChangedPaths& changed_paths;
};

/// `writ.audit.v1.AuditService`, all but WatchChanges: the history of the settings, read from the
/// log itself. Its methods throw ConnectError, and what the pool and the sequencer throw. Safe to
/// call from any thread.
class AuditService {
 public:
  explicit AuditService(const AuditSources& sources) : sources_(sources) {}

  audit::v1::ListChangesResponse list_changes(const RequestContext& context,
                                              const audit::v1::ListChangesRequest& request);
  audit::v1::GetSettingsAtResponse get_settings_at(const RequestContext& context,
                                                   const audit::v1::GetSettingsAtRequest& request);
  audit::v1::BlameResponse blame(const RequestContext& context,
                                 const audit::v1::BlameRequest& request);
  audit::v1::DiffResponse diff(const RequestContext& context,
                               const audit::v1::DiffRequest& request);
  audit::v1::RevertResponse revert(const RequestContext& context,
                                   const audit::v1::RevertRequest& request);
  audit::v1::GetEventResponse get_event(const RequestContext& context,
                                        const audit::v1::GetEventRequest& request);
  audit::v1::GetHeadResponse get_head(const RequestContext& context,
                                      const audit::v1::GetHeadRequest& request);

 private:
  AuditSources sources_;
};

/// Serves these methods. `service` must outlive the router.
void register_audit_service(Router& router, AuditService& service);

}  // namespace writ
