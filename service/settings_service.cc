#include "service/settings_service.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <limits>

#include "projections/settings.h"
#include "schema/merge.h"
#include "schema/protojson.h"
#include "schema/prune.h"
#include "schema/scope.h"
#include "schema/validate.h"
#include "service/settings_writes.h"

namespace writ {
namespace {

using flyteidl2::settings::Settings;
using flyteidl2::settings::SettingsKey;
using flyteidl2::settings::SettingsRecord;

template <typename Request>
const SettingsKey* key_of(const Request& request) {
  return request.has_key() ? &request.key() : nullptr;
}

std::vector<std::string> storage_keys(const std::vector<ScopeKey>& levels) {
  std::vector<std::string> keys;
  for (const ScopeKey& level : levels) keys.push_back(level.storage_key());
  return keys;
}

std::string fingerprint(std::string_view method, const ScopeKey& key, const Settings& pruned,
                        std::int64_t version) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    pruned.SerializeToCodedStream(&out);
  }
  const std::string head =
      std::string(method) + '\0' + key.storage_key() + '\0' + std::to_string(version) + '\0';
  const Digest digest = sha256(head, bytes);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// Sends a validated write through the sequencer and answers the record as it is now stored.
template <typename Request>
SettingsRecord write(Sequencer& sequencer, const RequestContext& context, const Request& request,
                     SettingsCommand::Kind kind, std::int64_t expected) {
  SettingsRecord record;
  *record.mutable_key() = request.key();
  *record.mutable_settings() = request.settings();
  prune(record.mutable_settings());
  const ScopeKey key = scope_key(request.key());
  context.set_log_key(key.storage_key());

  SettingsCommand command{kind, key, write_json(record.settings()), {expected}};
  std::string print;
  if (!context.idempotency_key.empty())
    print =
        fingerprint(kind == SettingsCommand::Kind::kCreate ? "CreateSettings" : "UpdateSettings",
                    key, record.settings(), expected);
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
  refuse(validate_key(key_of(request)));
  context.set_log_key(scope_key(request.key()).storage_key());
  const auto levels = scope_key(request.key()).levels();
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
  refuse(validate_key(key_of(request)));
  context.set_log_key(scope_key(request.key()).storage_key());
  const auto levels = scope_key(request.key()).levels();
  const auto stored = reader_.fetch(storage_keys(levels), context.deadline);
  flyteidl2::settings::GetSettingsForEditResponse response;
  *response.mutable_requestedkey() = request.key();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    SettingsRecord& record = *response.add_levels();
    record.mutable_key()->set_org(request.key().org());
    record.mutable_key()->set_domain(levels[i].domain);
    record.mutable_key()->set_project(levels[i].project);
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
      write(sequencer_, context, request, SettingsCommand::Kind::kCreate, 0);
  return response;
}

flyteidl2::settings::UpdateSettingsResponse SettingsService::update_settings(
    const RequestContext& context, const flyteidl2::settings::UpdateSettingsRequest& request) {
  std::vector<Violation> violations = validate_write(request);
  if (request.version() == 0)
    violations.push_back({"version", "a version is required; use CreateSettings for a new record"});
  refuse(violations);
  // A version beyond the log's range is one that no record has.
  const auto expected = static_cast<std::int64_t>(
      std::min<std::uint64_t>(request.version(), std::numeric_limits<std::int64_t>::max()));
  flyteidl2::settings::UpdateSettingsResponse response;
  *response.mutable_settingsrecord() =
      write(sequencer_, context, request, SettingsCommand::Kind::kUpdate, expected);
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
