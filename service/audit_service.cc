#include "service/audit_service.h"

#include "projections/settings.h"
#include "schema/leaf_diff.h"
#include "service/audit_blame.h"
#include "service/audit_changes.h"
#include "service/audit_point.h"
#include "service/method_access.h"
#include "service/proto_time.h"
#include "service/settings_requests.h"

namespace writ {
namespace {

using audit::v1::Point;

std::uint64_t number(Position position) { return static_cast<std::uint64_t>(position.value); }

/// The scope that an event is about; the instance for what is about no settings.
ScopeKey scope_of(const RecordedEvent& event) {
  const std::string& stream = event.stream.value;
  if (!stream.starts_with(kSettingsStreamPrefix)) return {};
  return parse_storage_key(std::string_view(stream).substr(kSettingsStreamPrefix.size()));
}

}  // namespace

audit::v1::ListChangesResponse AuditService::list_changes(
    const RequestContext& context, const audit::v1::ListChangesRequest& request) {
  const ChangeMatcher matcher(request.filter());
  return sources_.pool.read(context.deadline, [&](Connection& connection) {
    if (matcher.has_path())
      sources_.changed_paths.wait_for(read_head(connection).position, context.deadline);
    return writ::list_changes(connection, request, matcher);
  });
}

audit::v1::GetSettingsAtResponse AuditService::get_settings_at(
    const RequestContext& context, const audit::v1::GetSettingsAtRequest& request) {
  const ScopeKey key = checked_key(context, key_of(request));
  return sources_.pool.read(context.deadline, [&](Connection& connection) {
    const Position position = resolve_point(connection, request.at(), key, "at");
    const std::vector<StoredAt> chain = chain_at(connection, key, position);
    audit::v1::GetSettingsAtResponse response;
    response.set_position(number(position));
    *response.mutable_effective()->mutable_key() = request.key();
    *response.mutable_effective()->mutable_settings() = merge_chain(chain);
    for (const StoredAt& one : chain) {
      flyteidl2::settings::SettingsRecord& record = *response.add_levels();
      *record.mutable_key() = settings_key(one.key, request.key().org());
      *record.mutable_settings() = one.settings;
      if (one.event) record.set_version(static_cast<std::uint64_t>(one.event->version.value));
    }
    return response;
  });
}

audit::v1::BlameResponse AuditService::blame(const RequestContext& context,
                                             const audit::v1::BlameRequest& request) {
  const ScopeKey key = checked_key(context, key_of(request));
  PathFilter filter;
  try {
    filter = PathFilter(request.path());
  } catch (const std::invalid_argument& e) {
    refuse({{"path", e.what()}});
  }
  return sources_.pool.read(context.deadline, [&](Connection& connection) {
    const Position position = resolve_point(connection, request.at(), key, "at");
    sources_.changed_paths.wait_for(position, context.deadline);
    return blame_chain(connection, chain_at(connection, key, position), position, filter);
  });
}

audit::v1::DiffResponse AuditService::diff(const RequestContext& context,
                                           const audit::v1::DiffRequest& request) {
  const ScopeKey key = checked_key(context, key_of(request));
  return sources_.pool.read(context.deadline, [&](Connection& connection) {
    const auto settings_at = [&](Position position) {
      return request.effective() ? merge_chain(chain_at(connection, key, position))
                                 : record_at(connection, key, position).settings;
    };
    const Position from = resolve_point(connection, request.from(), key, "from");
    const Position to = resolve_point(connection, request.to(), key, "to");
    audit::v1::DiffResponse response;
    response.set_from_position(number(from));
    response.set_to_position(number(to));
    for (audit::v1::LeafChange& leaf : diff_settings(settings_at(from), settings_at(to)))
      *response.add_leaves() = std::move(leaf);
    return response;
  });
}

audit::v1::RevertResponse AuditService::revert(const RequestContext& context,
                                               const audit::v1::RevertRequest& request) {
  const ScopeKey key = checked_key(context, key_of(request));
  std::vector<Violation> violations;
  if (request.to_version() == 0)
    violations.push_back({"to_version", "the version to go back to is required"});
  if (request.version() == 0)
    violations.push_back({"version", "the version of the record now is required"});
  if (request.reason().size() > kMaxReasonBytes)
    violations.push_back({"reason", "invalid reason: must be at most 4096 bytes"});
  if (request.reason().find('\0') != std::string::npos)
    violations.push_back({"reason", "invalid reason: must not contain U+0000"});
  refuse(violations);
  Point point;
  point.set_version(request.to_version());
  audit::v1::RevertResponse response;
  flyteidl2::settings::SettingsRecord& record = *response.mutable_settings_record();
  *record.mutable_key() = request.key();
  // Events never change, so what is read here is still so when the command is decided.
  const RecordedEvent earlier = sources_.pool.read(context.deadline, [&](Connection& connection) {
    const Position position = resolve_point(connection, point, key, "to_version");
    // A version that is not the newest is a conflict, which the sequencer tells.
    if (request.version() == request.to_version() &&
        record_at(connection, key, read_head(connection).position).event->version.value ==
            static_cast<std::int64_t>(request.version()))
      refuse({{"to_version", "version " + std::to_string(request.version()) +
                                 " is what the record says now; nothing to go back to"}});
    RecordedEvent event = read_event(connection, position);
    *record.mutable_settings() = stored_settings(connection, event);
    return event;
  });
  const StreamVersion expected = expected_version(request.version());
  const std::string to_version = std::to_string(request.to_version());
  SettingsCommand command{SettingsCommand::Kind::kUpdate,
                          key,
                          *earlier.payload,
                          expected,
                          {{"reverted_to", to_version}}};
  RequestContext told = context;
  if (!request.reason().empty()) told.reason = request.reason();
  const Accepted accepted =
      submit_settings(sources_.sequencer, told, std::move(command),
                      command_fingerprint("Revert", key, expected, to_version));
  record.set_version(static_cast<std::uint64_t>(accepted.events.back().version.value));
  response.set_position(number(accepted.events.back().position));
  return response;
}

audit::v1::GetEventResponse AuditService::get_event(const RequestContext& context,
                                                    const audit::v1::GetEventRequest& request) {
  return sources_.pool.read(context.deadline, [&](Connection& connection) {
    if (request.position() == 0)
      refuse({{"position", "invalid position 0: the first event is at position 1"}});
    const Position position =
        checked_position(request.position(), read_head(connection).position, "position");
    const RecordedEvent event = read_event(connection, position);
    require_role(context, Role::kAuditor, scope_of(event));
    audit::v1::GetEventResponse response;
    response.set_position(number(event.position));
    response.set_stream(event.stream.value);
    response.set_version(static_cast<std::uint64_t>(event.version.value));
    response.set_type(event.type);
    *response.mutable_time() = to_proto(event.recorded_at);
    response.set_actor(event.actor);
    response.set_reason(event.reason);
    response.set_request_id(event.request_id);
    response.set_command_id(event.command_id);
    if (event.payload) response.set_payload(*event.payload);
    if (event.payload_salt) response.set_payload_salt(*event.payload_salt);
    response.set_envelope(event.envelope);
    response.set_leaf_hash(event.leaf_hash.data(), event.leaf_hash.size());
    return response;
  });
}

audit::v1::GetHeadResponse AuditService::get_head(const RequestContext& context,
                                                  const audit::v1::GetHeadRequest&) {
  const LogHead head =
      sources_.pool.read(context.deadline, [](Connection& one) { return read_head(one); });
  audit::v1::GetHeadResponse response;
  response.set_position(number(head.position));
  if (head.position.value > 0) *response.mutable_time() = to_proto(head.recorded_at);
  response.set_log_id(head.log_id);
  return response;
}

void register_audit_service(Router& router, AuditService& service) {
  const auto add = [&]<typename Request, typename Response>(
                       const char* name,
                       Response (AuditService::*call)(const RequestContext&, const Request&)) {
    router.unary<Request, Response>(
        find_method(audit::v1::Change::descriptor(), "AuditService", name),
        [&service, call](const RequestContext& context, const Request& request) {
          return (service.*call)(context, request);
        });
  };
  add("ListChanges", &AuditService::list_changes);
  add("GetSettingsAt", &AuditService::get_settings_at);
  add("Blame", &AuditService::blame);
  add("Diff", &AuditService::diff);
  add("Revert", &AuditService::revert);
  add("GetEvent", &AuditService::get_event);
  add("GetHead", &AuditService::get_head);
}

}  // namespace writ
