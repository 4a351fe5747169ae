#pragma once

#include <memory>
#include <string>
#include <vector>

#include "events/connection.h"
#include "events/sequencer.h"
#include "tests/support/test_database.h"

namespace writ {

/// A log whose commands are the events they append, with the settings projection beside it.
struct SettingsLog {
  SettingsLog();

  /// Appends all events in one transaction, as one command. Throws what the sequencer throws.
  Accepted write(std::vector<NewEvent> events);

  /// Has the content of an event erased.
  Outcome erase(std::int64_t position);

  /// A sequencer beside the own one, and an append through it.
  std::unique_ptr<Sequencer> another_sequencer() const;
  static Accepted write(Sequencer& sequencer, std::vector<NewEvent> events);

  /// All rows of the table, as PostgreSQL writes them, one a line.
  std::string rows();
  /// What the rows must be by the log alone, in the same form, by another statement than the fold.
  std::string rows_by_the_log();

  std::string text(const std::string& sql) { return owner.exec(sql)[0][0].c_str(); }

  /// Changes what nobody may change, as the owner who has disabled all that is in the way.
  void tamper(const std::string& sql) {
    owner.exec("ALTER TABLE events DISABLE TRIGGER ALL; ALTER TABLE tiles DISABLE TRIGGER ALL; " +
               sql);
  }

  /// The rows of a query, one a line.
  std::string lines(const std::string& sql);

  TestDatabase database;
  Connection owner;
  Sequencer sequencer;
};

/// Events of the record with the storage key `key`.
NewEvent created(const std::string& key, const std::string& payload);
NewEvent updated(const std::string& key, const std::string& payload);

}  // namespace writ
