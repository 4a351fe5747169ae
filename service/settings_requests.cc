#include "service/settings_requests.h"

#include <algorithm>
#include <limits>

#include "google/rpc/error_details.pb.h"
#include "service/proto_time.h"
#include "writ/settings/v1/errors.pb.h"

namespace writ {
namespace {

/// What a command takes in memory beside its payload: names, texts, hashes.
constexpr std::size_t kCommandOverheadBytes = 1024;

/// Whether there is more than white space.
bool says_something(std::string_view text) {
  while (!text.empty()) {
    if (text.starts_with("\u00a0")) {
      text.remove_prefix(2);
    } else if (std::string_view(" \t\r\n\v\f").find(text.front()) != std::string_view::npos) {
      text.remove_prefix(1);
    } else {
      return true;
    }
  }
  return false;
}

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
  *detail->mutable_time() = to_proto(current.recorded_at);
  detail->set_position(static_cast<std::uint64_t>(current.position.value));
  throw ConnectError(Code::kFailedPrecondition, "settings version conflict" + where)
      .with_detail(std::move(detail));
}

}  // namespace

void throw_violations(const std::vector<Violation>& violations) {
  auto detail = std::make_shared<google::rpc::BadRequest>();
  for (const Violation& violation : violations) {
    auto* field = detail->add_field_violations();
    field->set_field(violation.path);
    field->set_description(violation.message);
  }
  throw ConnectError(Code::kInvalidArgument, violations.front().message)
      .with_detail(std::move(detail));
}

void refuse(const std::vector<Violation>& violations) {
  if (!violations.empty()) throw_violations(violations);
}

ScopeKey checked_key(const RequestContext& context, const flyteidl2::settings::SettingsKey* key) {
  refuse(validate_key(key));
  ScopeKey scope = scope_key(*key);
  context.set_log_key(scope.storage_key());
  return scope;
}

StreamVersion expected_version(std::uint64_t version) {
  return {static_cast<std::int64_t>(
      std::min<std::uint64_t>(version, std::numeric_limits<std::int64_t>::max()))};
}

void check_reason(const RequestContext& context) {
  if (!context.reason_required || says_something(context.reason)) return;
  throw_violations({{"reason",
                     "a reason is required: send it in the header Writ-Reason, or in the field "
                     "`reason` where the request has one"}});
}

std::string command_fingerprint(std::string_view method, const ScopeKey& key,
                                StreamVersion expected, std::string_view what) {
  std::string head(method);
  for (const std::string& part : {key.storage_key(), std::to_string(expected.value)}) {
    head += '\0';
    head += part;
  }
  head += '\0';
  return std::string(bytes_of(sha256(head, what)));
}

Accepted submit_settings(Sequencer& sequencer, const RequestContext& context,
                         SettingsCommand settings, std::string fingerprint) {
  check_reason(context);
  const ScopeKey key = settings.key;
  Command command;
  command.domain = kSettingsDomain;
  command.bytes = settings.payload.size() + kCommandOverheadBytes;
  command.body = std::move(settings);
  command.actor = context.caller.name;
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
