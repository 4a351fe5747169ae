#pragma once

#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "events/connection.h"
#include "events/sequencer.h"
#include "tests/events/counter_domain.h"
#include "tests/support/test_database.h"

namespace writ {

/// A command of the counter domain by the actor "tester".
Command counter_command(Operations operations);
/// The same with an idempotency key; the fingerprint is that of `what`.
Command keyed_command(const std::string& key, const std::string& what, Operations operations);

/// What became of one command: its outcome, or the exception that it threw.
CommandResult submit(Sequencer& sequencer, Command command);
/// The same, from a thread of its own.
std::future<CommandResult> submit_later(Sequencer& sequencer, Command command);

/// The acceptance in a result; the test ends when it is none.
Accepted accepted(const CommandResult& result);
/// Whether the result is a rejection by the counter domain, of this operation.
bool is_rejected(const CommandResult& result, std::size_t operation = 0);
/// "" for an outcome, else the type's duty and text, for messages and comparisons.
std::string error_text(const CommandResult& result);

template <typename Error>
bool is_error(const CommandResult& result) {
  const auto* error = std::get_if<std::exception_ptr>(&result);
  if (error == nullptr) return false;
  try {
    std::rethrow_exception(*error);
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// A database with the counter domain's table, and an owner's connection to look at it.
struct LogFixture {
  LogFixture();

  SequencerOptions options();  ///< As `writ_app`; warnings are kept.
  SequencerOptions options_through(const std::string& host);
  std::unique_ptr<Sequencer> sequencer();     ///< With `options()`.
  std::vector<std::string> warnings() const;  ///< What sequencers warned of.

  /// Whether a batch was refused by the database and run again one command at a time: correct in
  /// the end, but never what is wanted of good commands.
  bool fell_back() const;

  /// Asks one number of the database, as its owner.
  std::int64_t number(const std::string& sql);
  std::string text(const std::string& sql);
  std::int64_t events() { return number("SELECT count(*) FROM events"); }
  std::int64_t total(const std::string& counter);

  /// Ends all sessions of `writ_app`. Answers how many there were.
  std::int64_t terminate_app_sessions();
  /// True when a session of `writ_app` waits for a lock.
  bool app_waits_for_lock();

  TestDatabase database;
  Connection owner;

 private:
  struct Warnings {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  std::shared_ptr<Warnings> warnings_ = std::make_shared<Warnings>();
};

/// Holds the head's lock, so that commands pile up and are then run in known batches: the first one
/// alone, all others in one batch (as far as the sequencer's limits go).
class Pile {
 public:
  Pile(LogFixture& fixture, Sequencer& sequencer);

  /// Queues a command behind the earlier ones.
  void add(Command command);

  /// Lets go and answers the results in the order of the commands.
  std::vector<CommandResult> release();

 private:
  LogFixture& fixture_;
  Sequencer& sequencer_;
  Connection lock_;
  std::deque<std::future<CommandResult>> results_;
};

/// Checks every invariant of the log on the database itself: dense positions and versions, times,
/// envelopes, hashes, chains, the head, and the read model of the counter domain against the log.
void check_log(LogFixture& fixture);

}  // namespace writ
