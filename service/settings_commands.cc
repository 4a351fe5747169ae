#include "service/settings_commands.h"

#include "projections/settings.h"

namespace writ {
namespace {

Decision decide(const SettingsCommand& command, Reader& reader) {
  const StreamName stream = settings_stream(command.key);
  std::optional<StreamState> current = reader.latest(stream);
  using Kind = SettingsRejected::Kind;
  if (command.kind == SettingsCommand::Kind::kCreate) {
    if (current) return Rejected{SettingsRejected{Kind::kAlreadyExists, std::move(current)}};
    return std::vector<NewEvent>{{stream, kSettingsCreated, command.payload, command.detail}};
  }
  if (!current) return Rejected{SettingsRejected{Kind::kNotFound, std::nullopt}};
  if (current->version != command.expected)
    return Rejected{SettingsRejected{Kind::kVersionConflict, std::move(current)}};
  return std::vector<NewEvent>{{stream, kSettingsUpdated, command.payload, command.detail}};
}

}  // namespace

StreamName settings_stream(const ScopeKey& key) {
  return {std::string(kSettingsStreamPrefix) + key.storage_key()};
}

Domain settings_domain() {
  Domain domain;
  domain.name = kSettingsDomain;
  domain.load = [](const std::any& body) {
    return std::vector<StreamName>{
        settings_stream(std::any_cast<const SettingsCommand&>(body).key)};
  };
  domain.decide = [](const std::any& body, Reader& reader) {
    return decide(std::any_cast<const SettingsCommand&>(body), reader);
  };
  domain.project = {settings_projection()};
  return domain;
}

}  // namespace writ
