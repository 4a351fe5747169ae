// The log held against the last checkpoint that was signed of it, and the explicit way on.

#include "events/log_check.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "events/log_domain.h"
#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"

namespace writ {
namespace {

struct CheckedLog : LogFixture {
  CheckedLog() {
    directory = std::filesystem::temp_directory_path() / ("writ-check-" + hex(random_bytes(8)));
    std::filesystem::create_directory(directory);
    reader = std::make_unique<Connection>(database.app());
    prepare_tile_queries(*reader);
  }
  ~CheckedLog() { std::filesystem::remove_all(directory); }

  std::unique_ptr<CheckpointSigner> signer() {
    return std::make_unique<CheckpointSigner>(
        SignerOptions{directory / "key", true, directory / "checkpoint", "log.example"},
        read_tree_head(*reader).log_id);
  }
  SequencerOptions checked_options(const CheckpointSigner& signer) {
    SequencerOptions options = this->options();
    options.last_checkpoint = [&signer] { return signer.last(); };
    return options;
  }

  /// Keeps the log as it is now, to be put back.
  void dump() {
    owner.exec(
        "CREATE SCHEMA kept; CREATE TABLE kept.events AS TABLE events; CREATE TABLE kept.head AS"
        " TABLE log_head; CREATE TABLE kept.tiles AS TABLE tiles; CREATE TABLE kept.counters AS"
        " TABLE counters");
  }
  void restore() {
    owner.exec(
        "ALTER TABLE events DISABLE TRIGGER ALL; ALTER TABLE tiles DISABLE TRIGGER ALL;"
        "DELETE FROM events; DELETE FROM tiles; DELETE FROM counters; DELETE FROM log_head;"
        "INSERT INTO events SELECT * FROM kept.events; INSERT INTO tiles SELECT * FROM kept.tiles;"
        "INSERT INTO counters SELECT * FROM kept.counters;"
        "INSERT INTO log_head SELECT * FROM kept.head;"
        "UPDATE projections SET position = (SELECT position FROM log_head) WHERE name = "
        "'counters'");
  }

  void sign(CheckpointSigner& signer) {
    const TreeHead head = read_tree_head(*reader);
    signer.sign(head.size, head.root);
  }

  std::string why_not_started(const CheckpointSigner& signer) {
    try {
      Sequencer(checked_options(signer), {counter_domain()});
      return "";
    } catch (const StartError& e) {
      return e.what();
    }
  }

  std::filesystem::path directory;
  std::unique_ptr<Connection> reader;
};

void add(Sequencer& sequencer, const std::string& name, int times) {
  for (int i = 0; i < times; ++i) accepted(submit(sequencer, counter_command({Add{name, 1}})));
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(log_check_tests, CheckedLog)

BOOST_AUTO_TEST_CASE(a_log_that_grew_since_its_checkpoint_is_served) {
  const auto signer = this->signer();
  add(*sequencer(), "a", 5);
  sign(*signer);
  BOOST_CHECK_EQUAL(why_not_started(*signer), "");
  add(*sequencer(), "a", 300);
  BOOST_CHECK_EQUAL(why_not_started(*signer), "");
}

BOOST_AUTO_TEST_CASE(a_log_behind_its_checkpoint_is_refused_at_the_start_with_the_way_on) {
  const auto signer = this->signer();
  add(*sequencer(), "a", 3);
  dump();
  add(*sequencer(), "a", 2);
  sign(*signer);
  restore();
  const std::string why = why_not_started(*signer);
  BOOST_CHECK_MESSAGE(says(why,
                           "ends at position 3, behind the checkpoint that was signed at"
                           " position 5"),
                      why);
  BOOST_CHECK_MESSAGE(says(why, "writ accept-log"), why);
}

BOOST_AUTO_TEST_CASE(a_log_that_was_written_on_from_a_backup_is_refused) {
  const auto signer = this->signer();
  add(*sequencer(), "a", 3);
  dump();
  add(*sequencer(), "a", 2);
  sign(*signer);
  restore();
  add(*sequencer(), "b", 4);  // by a program that knows no checkpoint
  const std::string why = why_not_started(*signer);
  BOOST_CHECK_MESSAGE(says(why, "up to position 5 is not the one of the checkpoint"), why);
}

BOOST_AUTO_TEST_CASE(another_log_is_refused) {
  const auto signer = this->signer();
  add(*sequencer(), "a", 1);
  sign(*signer);
  owner.exec("UPDATE log_head SET log_id = decode('00112233445566778899aabbccddeeff', 'hex')");
  const std::string why = why_not_started(*signer);
  BOOST_CHECK_MESSAGE(says(why, "and this is the log 00112233445566778899aabbccddeeff"), why);
}

BOOST_AUTO_TEST_CASE(a_broken_tree_is_refused_without_a_checkpoint_too) {
  add(*sequencer(), "a", 3);
  owner.exec("UPDATE log_head SET root = sha256('another')");
  BOOST_CHECK_THROW(sequencer(), StartError);
}

BOOST_AUTO_TEST_CASE(a_log_put_back_while_the_service_runs_stops_the_writing) {
  const auto signer = this->signer();
  add(*sequencer(), "a", 3);
  dump();
  const auto other = this->sequencer();
  Sequencer sequencer(checked_options(*signer), {counter_domain()});
  add(*other, "a", 2);
  sign(*signer);  // beyond what this sequencer acknowledged: nothing
  restore();
  terminate_app_sessions();
  reader = std::make_unique<Connection>(database.app());
  for (int i = 0; i < 2; ++i) {
    const auto result = submit(sequencer, counter_command({Add{"b", 1}}));
    BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(result), error_text(result));
  }
  BOOST_CHECK_MESSAGE(says(sequencer.status().refuses, "behind the checkpoint"),
                      sequencer.status().refuses);
  BOOST_CHECK_EQUAL(events(), 3);
}

BOOST_AUTO_TEST_CASE(a_past_that_was_rewritten_while_the_service_runs_stops_the_writing) {
  add(*sequencer(), "a", 300);
  const auto sequencer = this->sequencer();
  add(*sequencer, "a", 1);
  // All of it: a forger who owns the database makes the tree fit the new past.
  owner.exec(
      "ALTER TABLE events DISABLE TRIGGER ALL; ALTER TABLE tiles DISABLE TRIGGER ALL;"
      "UPDATE events SET leaf_hash = sha256('forged') WHERE position = 300;");
  Frontier tree;
  for (const auto& row :
       owner.exec("SELECT encode(leaf_hash, 'hex') FROM events ORDER BY position"))
    tree.append(to_digest(from_hex(row[0].c_str())));
  owner.exec_params("UPDATE log_head SET root = $1::bytea, frontier = $2::bytea",
                    {"\\x" + hex(tree.root()), "\\x" + hex(tree.bytes())});
  terminate_app_sessions();
  const auto result = submit(*sequencer, counter_command({Add{"b", 1}}));
  BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(result), error_text(result));
  BOOST_CHECK_MESSAGE(says(sequencer->status().refuses, "before position 301 is not the one"),
                      sequencer->status().refuses);
}

BOOST_AUTO_TEST_CASE(an_operator_goes_on_and_the_log_says_so) {
  const auto signer = this->signer();
  add(*sequencer(), "a", 3);
  dump();
  add(*sequencer(), "a", 2);
  sign(*signer);
  restore();
  {
    Sequencer accepting(options(), {log_domain()});
    const LogAcceptance done =
        accept_log(*reader, accepting, *signer, "operator:ann", "restored on purpose");
    BOOST_CHECK_EQUAL(done.position.value, 4);
    BOOST_CHECK(says(done.why, "behind the checkpoint"));
    BOOST_CHECK_EQUAL(signer->last()->size.value, 4);
    BOOST_CHECK_EQUAL(accept_log(*reader, accepting, *signer, "operator:ann", "").why, "");
  }
  const auto event = owner.exec(
      "SELECT stream, version, type, actor, reason, payload, envelope::jsonb -> 'detail' ->>"
      " 'checkpoint_size', envelope::jsonb -> 'detail' ->> 'size' FROM events WHERE position = 4");
  const char* const wanted[] = {
      "log", "1", "log.accepted", "operator:ann", "restored on purpose", "{}", "5", "3"};
  for (std::size_t i = 0; i < std::size(wanted); ++i)
    BOOST_CHECK_EQUAL(event[0][static_cast<int>(i)].c_str(), wanted[i]);
  BOOST_CHECK_EQUAL(events(), 4);
  BOOST_CHECK_EQUAL(why_not_started(*this->signer()), "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
