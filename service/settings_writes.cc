#include "service/settings_writes.h"

#include "google/rpc/error_details.pb.h"
#include "writ/settings/v1/errors.pb.h"

namespace writ {
namespace {

/// What a command takes in memory beside its payload: names, texts, hashes.
constexpr std::size_t kCommandOverheadBytes = 1024;

[[noreturn]] void throw_rejected(const SettingsRejected& rejected, const ScopeKey& key) {
  const std::string where = ": " + key.storage_key();
  switch (rejected.kind) {
    case SettingsRejected::Kind::kNotFound:
      throw ConnectError(Code::kNotFound, "settings not found" + where);
    case SettingsRejected::Kind::kAlreadyExists:
      throw ConnectError(Code::kAlreadyExists, "settings already exists" + where);
    case SettingsRejected::Kind::kVersionConflict:
      break;
  }
  auto detail = std::make_shared<settings::v1::VersionConflict>();
  const StreamState& current = rejected.current.value();
  detail->set_current_version(static_cast<std::uint64_t>(current.version.value));
  detail->set_actor(current.actor);
  const auto micros = current.recorded_at.time_since_epoch().count();
  detail->mutable_time()->set_seconds(micros / 1'000'000);
  detail->mutable_time()->set_nanos(static_cast<int>(micros % 1'000'000) * 1000);
  detail->set_position(static_cast<std::uint64_t>(current.position.value));
  throw ConnectError(Code::kFailedPrecondition, "settings version conflict" + where)
      .with_detail(std::move(detail));
}

}  // namespace

void refuse(const std::vector<Violation>& violations) {
  if (violations.empty()) return;
  auto detail = std::make_shared<google::rpc::BadRequest>();
  for (const Violation& violation : violations) {
    auto* field = detail->add_field_violations();
    field->set_field(violation.path);
    field->set_description(violation.message);
  }
  throw ConnectError(Code::kInvalidArgument, violations.front().message)
      .with_detail(std::move(detail));
}

Accepted submit_settings(Sequencer& sequencer, const RequestContext& context,
                         SettingsCommand settings, std::string fingerprint) {
  const ScopeKey key = settings.key;
  Command command;
  command.domain = kSettingsDomain;
  command.bytes = settings.payload.size() + kCommandOverheadBytes;
  command.body = std::move(settings);
  command.actor = context.actor;
  command.reason = context.reason;
  command.request_id = context.request_id;
  command.idempotency_key = context.idempotency_key;
  command.fingerprint = std::move(fingerprint);
  command.deadline = context.deadline;
  Outcome outcome = sequencer.submit(std::move(command));
  if (const auto* rejected = std::get_if<Rejected>(&outcome))
    throw_rejected(std::any_cast<const SettingsRejected&>(rejected->why), key);
  return std::get<Accepted>(std::move(outcome));
}

}  // namespace writ
