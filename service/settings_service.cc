#include "service/settings_service.h"

#include "projections/settings.h"
#include "schema/merge.h"
#include "schema/protojson.h"
#include "schema/prune.h"
#include "schema/scope.h"
#include "schema/stable_bytes.h"
#include "schema/unknown_fields.h"
#include "schema/validate.h"
#include "service/settings_requests.h"

namespace writ {
namespace {

using flyteidl2::settings::SettingsRecord;

std::vector<std::string> storage_keys(const std::vector<ScopeKey>& levels) {
  std::vector<std::string> keys;
  for (const ScopeKey& level : levels) keys.push_back(level.storage_key());
  return keys;
}

/// Sends a validated write through the sequencer and answers the record as it is now stored.
template <typename Request>
SettingsRecord write(Sequencer& sequencer, const RequestContext& context, const Request& request,
                     SettingsCommand::Kind kind, StreamVersion expected) {
  SettingsRecord record;
  *record.mutable_key() = request.key();
  *record.mutable_settings() = request.settings();
  prune(record.mutable_settings());
  const ScopeKey key = scope_key(request.key());
  context.set_log_key(key.storage_key());
  // A newer client's setting is not stored here; it must not be lost in silence.
  for (const std::string& field : unknown_fields(request)) context.warn_ignored(field);
  record.mutable_settings()->DiscardUnknownFields();

  SettingsCommand command{kind, key, write_json(record.settings()), expected};
  std::string print;
  if (!context.idempotency_key.empty())
    print = command_fingerprint(
        kind == SettingsCommand::Kind::kCreate ? "CreateSettings" : "UpdateSettings", key, expected,
        stable_bytes(record.settings()));
  const Accepted accepted =
      submit_settings(sequencer, context, std::move(command), std::move(print));
  record.set_version(static_cast<std::uint64_t>(accepted.events.back().version.value));
  return record;
}

template <typename Request>
std::vector<Violation> validate_write(const Request& request) {
  std::vector<Violation> violations = validate_key(key_of(request));
  for (Violation& violation :
       validate_settings(request.has_settings() ? &request.settings() : nullptr))
    violations.push_back(std::move(violation));
  return violations;
}

}  // namespace

flyteidl2::settings::GetSettingsResponse SettingsService::get_settings(
    const RequestContext& context, const flyteidl2::settings::GetSettingsRequest& request) {
  const auto levels = checked_key(context, key_of(request)).levels();
  const auto stored = reader_.fetch(storage_keys(levels), context.deadline);
  std::vector<Level> chain;
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (stored[i]) chain.push_back({levels[i].scope(), &stored[i]->settings});
  flyteidl2::settings::GetSettingsResponse response;
  SettingsRecord& record = *response.mutable_settingsrecord();
  *record.mutable_key() = request.key();
  *record.mutable_settings() = merge(chain);
  return response;
}

flyteidl2::settings::GetSettingsForEditResponse SettingsService::get_settings_for_edit(
    const RequestContext& context, const flyteidl2::settings::GetSettingsForEditRequest& request) {
  const auto levels = checked_key(context, key_of(request)).levels();
  const auto stored = reader_.fetch(storage_keys(levels), context.deadline);
  flyteidl2::settings::GetSettingsForEditResponse response;
  *response.mutable_requestedkey() = request.key();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    SettingsRecord& record = *response.add_levels();
    *record.mutable_key() = settings_key(levels[i], request.key().org());
    record.mutable_settings();
    if (!stored[i]) continue;
    *record.mutable_settings() = stored[i]->settings;
    record.set_version(static_cast<std::uint64_t>(stored[i]->version));
  }
  return response;
}

flyteidl2::settings::CreateSettingsResponse SettingsService::create_settings(
    const RequestContext& context, const flyteidl2::settings::CreateSettingsRequest& request) {
  refuse(validate_write(request));
  flyteidl2::settings::CreateSettingsResponse response;
  *response.mutable_settingsrecord() =
      write(sequencer_, context, request, SettingsCommand::Kind::kCreate, {0});
  return response;
}

flyteidl2::settings::UpdateSettingsResponse SettingsService::update_settings(
    const RequestContext& context, const flyteidl2::settings::UpdateSettingsRequest& request) {
  std::vector<Violation> violations = validate_write(request);
  if (request.version() == 0)
    violations.push_back({"version", "a version is required; use CreateSettings for a new record"});
  refuse(violations);
  flyteidl2::settings::UpdateSettingsResponse response;
  *response.mutable_settingsrecord() =
      write(sequencer_, context, request, SettingsCommand::Kind::kUpdate,
            expected_version(request.version()));
  return response;
}

void register_settings_service(Router& router, SettingsService& service) {
  namespace pb = flyteidl2::settings;
  const auto method = [](const char* name) {
    return find_method(pb::SettingsRecord::descriptor(), "SettingsService", name);
  };
  router.unary<pb::GetSettingsRequest, pb::GetSettingsResponse>(
      method("GetSettings"), [&](const auto& context, const auto& request) {
        return service.get_settings(context, request);
      });
  router.unary<pb::GetSettingsForEditRequest, pb::GetSettingsForEditResponse>(
      method("GetSettingsForEdit"), [&](const auto& context, const auto& request) {
        return service.get_settings_for_edit(context, request);
      });
  router.unary<pb::CreateSettingsRequest, pb::CreateSettingsResponse>(
      method("CreateSettings"), [&](const auto& context, const auto& request) {
        return service.create_settings(context, request);
      });
  router.unary<pb::UpdateSettingsRequest, pb::UpdateSettingsResponse>(
      method("UpdateSettings"), [&](const auto& context, const auto& request) {
        return service.update_settings(context, request);
      });
}

}  // namespace writ
