#include "tests/events/log_fixture.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <typeinfo>

#include "tests/support/tree_checks.h"
#include "tests/support/wait.h"

namespace writ {

Command counter_command(Operations operations) {
  Command command;
  command.domain = kCounterDomain;
  command.body = std::move(operations);
  command.bytes = 200;
  command.actor = "tester";
  command.reason = "because";
  command.request_id = "r-1";
  return command;
}

Command keyed_command(const std::string& key, const std::string& what, Operations operations) {
  Command command = counter_command(std::move(operations));
  command.idempotency_key = key;
  const Digest digest = sha256(what);
  command.fingerprint.assign(digest.begin(), digest.end());
  return command;
}

CommandResult submit(Sequencer& sequencer, Command command) {
  try {
    return sequencer.submit(std::move(command));
  } catch (const std::exception&) {
    return std::current_exception();
  }
}

std::future<CommandResult> submit_later(Sequencer& sequencer, Command command) {
  return std::async(std::launch::async, [&sequencer, command = std::move(command)]() mutable {
    return submit(sequencer, std::move(command));
  });
}

Accepted accepted(const CommandResult& result) {
  const auto* outcome = std::get_if<Outcome>(&result);
  BOOST_REQUIRE_MESSAGE(outcome != nullptr, "not accepted but " << error_text(result));
  const auto* accepted = std::get_if<Accepted>(outcome);
  BOOST_REQUIRE_MESSAGE(accepted != nullptr, "not accepted but rejected");
  return *accepted;
}

bool is_rejected(const CommandResult& result, std::size_t operation) {
  const auto* outcome = std::get_if<Outcome>(&result);
  if (outcome == nullptr) return false;
  const auto* rejected = std::get_if<Rejected>(outcome);
  return rejected != nullptr &&
         std::any_cast<const CounterRejected&>(rejected->why).operation == operation;
}

std::string error_text(const CommandResult& result) {
  const auto* error = std::get_if<std::exception_ptr>(&result);
  if (error == nullptr) return {};
  try {
    std::rethrow_exception(*error);
  } catch (const std::exception& e) {
    return std::string(typeid(e).name()) + ": " + e.what();
  }
}

LogFixture::LogFixture() : owner(database.owner()) { owner.exec(kCounterTables); }

SequencerOptions LogFixture::options() {
  SequencerOptions options;
  options.conninfo = database.app();
  options.warn = [kept = warnings_](const std::string& line) {
    const std::lock_guard lock(kept->mutex);
    kept->lines.push_back(line);
  };
  return options;
}

SequencerOptions LogFixture::options_through(const std::string& host) {
  SequencerOptions options = this->options();
  options.conninfo = with_session_settings(
      database.conninfo({{"user", "writ_app"}, {"host", host}, {"port", "5432"}}));
  return options;
}

std::unique_ptr<Sequencer> LogFixture::sequencer() {
  return std::make_unique<Sequencer>(options(), std::vector{counter_domain()});
}

std::vector<std::string> LogFixture::warnings() const {
  const std::lock_guard lock(warnings_->mutex);
  return warnings_->lines;
}

bool LogFixture::fell_back() const {
  return std::ranges::any_of(warnings(), [](const std::string& line) {
    return line.find("refused by the database") != std::string::npos;
  });
}

std::int64_t LogFixture::number(const std::string& sql) {
  return owner.exec(sql)[0][0].as<std::int64_t>();
}

std::string LogFixture::text(const std::string& sql) { return owner.exec(sql)[0][0].c_str(); }

std::int64_t LogFixture::total(const std::string& counter) {
  return number("SELECT coalesce(max(total), 0) FROM counters WHERE name = '" + counter + "'");
}

std::int64_t LogFixture::terminate_app_sessions() {
  return number(
      "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
      " WHERE datname = current_database() AND usename = 'writ_app'");
}

bool LogFixture::app_waits_for_lock() {
  return number(
             "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename "
             "= 'writ_app'"
             " AND wait_event_type = 'Lock'") > 0;
}

Pile::Pile(LogFixture& fixture, Sequencer& sequencer)
    : fixture_(fixture), sequencer_(sequencer), lock_(fixture.database.owner()) {
  lock_.exec("BEGIN; SELECT position FROM log_head FOR UPDATE");
}

void Pile::add(Command command) {
  const std::size_t before = sequencer_.status().queued;
  const bool first = results_.empty();
  results_.push_back(submit_later(sequencer_, std::move(command)));
  BOOST_REQUIRE(wait_until(
      [&] { return first ? fixture_.app_waits_for_lock() : sequencer_.status().queued > before; }));
}

std::vector<CommandResult> Pile::release() {
  lock_.exec("ROLLBACK");
  std::vector<CommandResult> results;
  for (auto& result : results_) results.push_back(result.get());
  return results;
}

void check_log(LogFixture& fixture) {
  // What PostgreSQL itself can recompute. Each query counts the rows that break a rule.
  const std::pair<const char*, const char*> rules[] = {
      {"positions are dense",
       "SELECT count(*) FROM (SELECT position, row_number() OVER (ORDER BY position) AS n"
       " FROM events) e WHERE position <> n"},
      {"versions are dense",
       "SELECT count(*) FROM (SELECT version, row_number() OVER"
       " (PARTITION BY stream ORDER BY position) AS n FROM events) e WHERE version <> n"},
      {"times do not decrease",
       "SELECT count(*) FROM (SELECT recorded_at, lag(recorded_at) OVER"
       " (ORDER BY position) AS before FROM events) e WHERE recorded_at < before"},
      {"leaf hashes match",
       "SELECT count(*) FROM events WHERE leaf_hash <>"
       " sha256('\\x00'::bytea || convert_to(envelope, 'UTF8'))"},
      {"payload hashes match",
       "SELECT count(*) FROM events WHERE payload IS NOT NULL AND"
       " envelope::jsonb ->> 'payload_hash' <>"
       " encode(sha256(payload_salt || convert_to(payload, 'UTF8')), 'hex')"},
      {"salts are 32 bytes of their own",
       "SELECT count(*) FILTER (WHERE length(payload_salt) <> 32) +"
       " count(payload_salt) - count(DISTINCT payload_salt) FROM events"},
      {"prev is the leaf before",
       "SELECT count(*) FROM (SELECT envelope::jsonb ->> 'prev' AS prev, coalesce(encode("
       "lag(leaf_hash) OVER (PARTITION BY stream ORDER BY version), 'hex'), '') AS before"
       " FROM events) e WHERE prev <> before"},
      {"envelopes name their log",
       "SELECT count(*) FROM events, log_head WHERE envelope::jsonb ->> 'log' <>"
       " encode(log_id, 'hex')"},
      {"envelopes say what the columns say",
       "SELECT count(*) FROM events WHERE (position, stream, version, type, actor, reason, "
       "command_id::text,"
       " request_id, to_char(recorded_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')) IS DISTINCT FROM"
       " ((envelope::jsonb ->> 'position')::bigint, envelope::jsonb ->> 'stream',"
       " (envelope::jsonb ->> 'version')::bigint, envelope::jsonb ->> 'type', envelope::jsonb ->> "
       "'actor',"
       " envelope::jsonb ->> 'reason', envelope::jsonb ->> 'command', envelope::jsonb ->> "
       "'request',"
       " envelope::jsonb ->> 'time')"},
      {"the head is the last event",
       "SELECT count(*) FROM log_head h, (SELECT coalesce(max(position), 0) AS position, "
       "coalesce(max(recorded_at),"
       " 'epoch') AS recorded_at FROM events) e WHERE (h.position, h.recorded_at) <> (e.position, "
       "e.recorded_at)"},
      {"the read model is at the head",
       "SELECT count(*) FROM projections, log_head WHERE name = 'counters' AND "
       "projections.position <>"
       " log_head.position"},
      {"the read model is the fold",
       "SELECT count(*) FROM counters c FULL JOIN (SELECT DISTINCT ON (stream) substr(stream, 9) "
       "AS name,"
       " (payload::jsonb ->> 'total')::bigint AS total, version FROM events ORDER BY stream, "
       "version DESC) e"
       " USING (name) WHERE (c.total, c.version) IS DISTINCT FROM (e.total, e.version)"},
      {"remembered commands are at their positions",
       "SELECT count(*) FROM commands c WHERE c.last_position < c.first_position OR EXISTS (SELECT "
       "FROM"
       " generate_series(c.first_position, c.last_position) p LEFT JOIN events e ON e.position = p"
       " WHERE e.command_id IS DISTINCT FROM c.command_id)"},
  };
  for (const auto& [rule, broken] : rules)
    BOOST_CHECK_MESSAGE(fixture.number(broken) == 0, "not so: " << rule);
  BOOST_TEST(broken_tree(fixture.owner) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

}  // namespace writ
