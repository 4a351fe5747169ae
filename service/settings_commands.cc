#include "service/settings_commands.h"

#include "projections/settings.h"

namespace writ {
namespace {

StreamName stream_of(const SettingsCommand& command) {
  return {std::string(kSettingsStreamPrefix) + command.key.storage_key()};
}

Decision decide(const SettingsCommand& command, Reader& reader) {
  const StreamName stream = stream_of(command);
  std::optional<StreamState> current = reader.latest(stream);
  using Kind = SettingsRejected::Kind;
  if (command.kind == SettingsCommand::Kind::kCreate) {
    if (current) return Rejected{SettingsRejected{Kind::kAlreadyExists, std::move(current)}};
    return std::vector<NewEvent>{{stream, kSettingsCreated, command.payload, {}}};
  }
  if (!current) return Rejected{SettingsRejected{Kind::kNotFound, std::nullopt}};
  if (current->version != command.expected)
    return Rejected{SettingsRejected{Kind::kVersionConflict, std::move(current)}};
  return std::vector<NewEvent>{{stream, kSettingsUpdated, command.payload, {}}};
}

}  // namespace

Domain settings_domain() {
  Domain domain;
  domain.name = kSettingsDomain;
  domain.load = [](const std::any& body) {
    return std::vector<StreamName>{stream_of(std::any_cast<const SettingsCommand&>(body))};
  };
  domain.decide = [](const std::any& body, Reader& reader) {
    return decide(std::any_cast<const SettingsCommand&>(body), reader);
  };
  domain.project = {settings_projection()};
  return domain;
}

}  // namespace writ
