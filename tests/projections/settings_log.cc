#include "tests/projections/settings_log.h"

#include "events/erasure.h"
#include "projections/settings.h"

namespace writ {
namespace {

Domain scribe() {
  Domain domain;
  domain.name = "scribe";
  domain.load = [](const std::any& body) {
    std::vector<StreamName> streams;
    for (const NewEvent& event : std::any_cast<const std::vector<NewEvent>&>(body))
      streams.push_back(event.stream);
    return streams;
  };
  domain.decide = [](const std::any& body, Reader&) -> Decision {
    return std::any_cast<const std::vector<NewEvent>&>(body);
  };
  domain.project = {settings_projection()};
  return domain;
}

SequencerOptions options_of(const TestDatabase& database) {
  SequencerOptions options;
  options.conninfo = database.app();
  return options;
}

}  // namespace

SettingsLog::SettingsLog()
    : owner(database.owner()), sequencer(options_of(database), {scribe(), erasure_domain()}) {}

std::unique_ptr<Sequencer> SettingsLog::another_sequencer() const {
  return std::make_unique<Sequencer>(options_of(database), std::vector<Domain>{scribe()});
}

Accepted SettingsLog::write(std::vector<NewEvent> events) {
  return write(sequencer, std::move(events));
}

Accepted SettingsLog::write(Sequencer& sequencer, std::vector<NewEvent> events) {
  Command command;
  command.domain = "scribe";
  command.body = std::move(events);
  command.actor = "tester";
  return std::get<Accepted>(sequencer.submit(std::move(command)));
}

Outcome SettingsLog::erase(std::int64_t position) {
  Command command;
  command.domain = kErasureDomain;
  command.body = Erasure{{position}};
  command.actor = "eraser";
  command.reason = "asked to";
  return sequencer.submit(std::move(command));
}

std::string SettingsLog::lines(const std::string& sql) {
  std::string all;
  for (const pqxx::row& row : owner.exec(sql)) {
    for (const pqxx::field& field : row) all += std::string(field.c_str()) + " | ";
    all += '\n';
  }
  return all;
}

std::string SettingsLog::rows() {
  return lines(
      "SELECT id, key, data::text, version, created_at, updated_at FROM settings ORDER BY key");
}

std::string SettingsLog::rows_by_the_log() {
  return lines(
      "SELECT first.position, substr(stream, 10) AS key, last.payload::jsonb::text, last.version,"
      " first.recorded_at, last.recorded_at FROM events first CROSS JOIN LATERAL (SELECT * FROM"
      " events e WHERE e.stream = first.stream ORDER BY e.position DESC LIMIT 1) last (position,"
      " same_stream, version, type, recorded_at, actor, reason, request_id, command_id, payload)"
      " WHERE first.version = 1 AND stream LIKE 'settings/%' ORDER BY key");
}

NewEvent created(const std::string& key, const std::string& payload) {
  return {{std::string(kSettingsStreamPrefix) + key}, kSettingsCreated, payload, {}};
}

NewEvent updated(const std::string& key, const std::string& payload) {
  return {{std::string(kSettingsStreamPrefix) + key}, kSettingsUpdated, payload, {}};
}

}  // namespace writ
