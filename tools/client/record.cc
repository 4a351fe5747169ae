#include "tools/client/record.h"

#include "tools/client/print.h"
#include "tools/client/printable.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ::client {
namespace {

namespace fs = flyteidl2::settings;

std::string change_text(const std::string& actor, const google::protobuf::Timestamp& time,
                        std::uint64_t position, std::uint64_t version) {
  std::string text = "changed by " + printable(actor) + " at " + time_text(time);
  text += ", position " + std::to_string(position);
  return text + ", now version " + std::to_string(version);
}

}  // namespace

std::vector<fs::SettingsRecord> read_levels(Api& api, const fs::SettingsKey& key) {
  fs::GetSettingsForEditRequest request;
  *request.mutable_key() = key;
  const auto response = api.call<fs::GetSettingsForEditResponse>(request);
  if (response.levels().empty()) throw Unreachable(api.url() + " answered without a level");
  return {response.levels().begin(), response.levels().end()};
}

fs::SettingsRecord write_record(Api& api, const fs::SettingsKey& key, const fs::Settings& settings,
                                std::uint64_t version) {
  if (version == 0) {
    fs::CreateSettingsRequest request;
    *request.mutable_key() = key;
    *request.mutable_settings() = settings;
    return api.call<fs::CreateSettingsResponse>(request).settingsrecord();
  }
  fs::UpdateSettingsRequest request;
  *request.mutable_key() = key;
  *request.mutable_settings() = settings;
  request.set_version(version);
  return api.call<fs::UpdateSettingsResponse>(request).settingsrecord();
}

std::string last_change(Api& api, const fs::SettingsKey& key, const std::string& path,
                        const Refusal& refusal) {
  audit::v1::ListChangesRequest request;
  *request.mutable_filter()->mutable_key() = key;
  request.mutable_filter()->set_path(path);
  request.set_page_size(1);
  try {
    const auto response = api.call<audit::v1::ListChangesResponse>(request);
    if (!response.changes().empty()) {
      const auto& change = response.changes(0);
      return change_text(change.actor(), change.time(), change.position(), change.version());
    }
  } catch (const Refused&) {
    // Reading the history is a right of its own; the conflict itself says a part.
  }
  if (!refusal.conflict) return "changed by somebody else";
  return change_text(refusal.conflict->actor(), refusal.conflict->time(),
                     refusal.conflict->position(), refusal.conflict->current_version());
}

}  // namespace writ::client
