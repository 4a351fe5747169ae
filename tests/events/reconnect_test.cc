// What a sequencer makes of the log it finds when it connects again, and of the database's clock.

#include <boost/test/unit_test.hpp>

#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"

namespace writ {

BOOST_FIXTURE_TEST_SUITE(reconnect_tests, LogFixture)

BOOST_AUTO_TEST_CASE(a_session_ended_while_idle_costs_no_error) {
  const auto sequencer = this->sequencer();
  for (int i = 1; i <= 3; ++i) {
    accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
    BOOST_CHECK_EQUAL(terminate_app_sessions(), 1);
  }
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  BOOST_CHECK_EQUAL(total("a"), 4);
  BOOST_CHECK(warnings().empty());
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_session_ended_within_a_batch_costs_no_error) {
  const auto sequencer = this->sequencer();
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"a", 1}}));
  terminate_app_sessions();
  accepted(pile.release()[0]);
  BOOST_CHECK_EQUAL(total("a"), 1);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_log_that_is_not_the_one_acknowledged_stops_the_writing) {
  struct Row {
    const char* name;
    const char* sql;  ///< What happens to a log of two events behind the sequencer's back.
    const char* why;
  };
  const Row rows[] = {
      {"a restored backup",
       "DELETE FROM events WHERE position = 2; UPDATE log_head SET (position, tree_size, root,"
       " frontier) = (SELECT 1, 1, leaf_hash, leaf_hash FROM events)",
       "the log ends at position 1, behind position 2"},
      {"a backup that was written to",
       "UPDATE events SET leaf_hash = sha256('another') WHERE position = 2",
       "another event at position 2"},
      {"a head without its event", "DELETE FROM events WHERE position = 2",
       "another event at position 2"},
      {"another log",
       "UPDATE log_head SET log_id = decode('00112233445566778899aabbccddeeff', 'hex')",
       "another log than before"},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      LogFixture fixture;
      const auto sequencer = fixture.sequencer();
      accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
      accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
      fixture.owner.exec("ALTER TABLE events DISABLE TRIGGER ALL");
      fixture.owner.exec(row.sql);
      fixture.terminate_app_sessions();
      const std::int64_t before = fixture.events();
      for (int i = 0; i < 2; ++i) {
        const auto result = submit(*sequencer, counter_command({Add{"b", 1}}));
        BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(result), error_text(result));
      }
      const std::string refuses = sequencer->status().refuses;
      BOOST_CHECK_MESSAGE(refuses.find(row.why) != std::string::npos, refuses);
      BOOST_CHECK_EQUAL(fixture.events(), before);
      BOOST_REQUIRE_EQUAL(fixture.warnings().size(), 1u);
      BOOST_CHECK_EQUAL(fixture.warnings()[0], refuses);
    }
  }
}

// As a restore does that leaves the sessions alone.
BOOST_AUTO_TEST_CASE(a_log_put_back_under_the_connection_stops_the_writing) {
  for (const char* sql :
       {"DELETE FROM events WHERE position = 2; UPDATE log_head SET (position, tree_size, root,"
        " frontier) = (SELECT 1, 1, leaf_hash, leaf_hash FROM events)",
        "UPDATE log_head SET log_id = decode('00112233445566778899aabbccddeeff', 'hex')"})
    BOOST_TEST_CONTEXT(sql) {
      LogFixture fixture;
      SequencerOptions options = fixture.options();
      Position kept;
      Digest kept_root{};
      options.keep = [&](Position position, const Digest& root) {
        kept = position;
        kept_root = root;
      };
      Sequencer sequencer(options, {counter_domain()});
      accepted(submit(sequencer, counter_command({Add{"a", 1}})));
      accepted(submit(sequencer, counter_command({Add{"a", 1}})));
      const std::string root = fixture.text("SELECT encode(root, 'hex') FROM log_head");
      fixture.owner.exec("ALTER TABLE events DISABLE TRIGGER ALL");
      fixture.owner.exec(sql);
      const std::int64_t before = fixture.events();
      const auto result = submit(sequencer, counter_command({Add{"b", 1}}));
      BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(result), error_text(result));
      BOOST_CHECK(!sequencer.status().refuses.empty());
      BOOST_CHECK_EQUAL(fixture.events(), before);
      BOOST_CHECK_EQUAL(kept.value, 2);
      BOOST_CHECK_EQUAL(hex(kept_root), root);
    }
}

namespace {

/// The log behind the sequencer's back: back to its first event.
void put_back_to_one(LogFixture& fixture) {
  fixture.owner.exec(
      "ALTER TABLE events DISABLE TRIGGER ALL; DELETE FROM events WHERE position > 1;"
      " UPDATE log_head SET (position, tree_size, root, frontier) ="
      " (SELECT 1, 1, leaf_hash, leaf_hash FROM events); DELETE FROM counters");
}

void add(Sequencer& sequencer, int times) {
  for (int i = 0; i < times; ++i) accepted(submit(sequencer, counter_command({Add{"a", 1}})));
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_others_wrote_and_was_put_back_stops_the_writing_too) {
  struct Row {
    const char* name;
    int before, after_start;  ///< Events that another process appends before and after its start.
    bool is_signed;           ///< Whether a checkpoint of them all is signed then.
    int fork;                 ///< Events that a third appends once it was put back.
    const char* why;          ///< "" when the writing goes on.
  };
  for (const Row& row : {
           Row{"found at the start", 3, 0, false, 0, "ends at position 1, behind position 3"},
           Row{"a fork that grew beyond", 3, 0, false, 5, "another event at position 3"},
           Row{"a fork as long", 3, 0, false, 2, "another event at position 3"},
           Row{"only signed", 1, 3, true, 0, "behind the checkpoint that was signed at position 4"},
           Row{"only signed, and a fork", 1, 3, true, 5, "is not the one of the checkpoint"},
           Row{"not known", 1, 3, false, 0, ""},
       })
    BOOST_TEST_CONTEXT(row.name) {
      LogFixture fixture;
      add(*fixture.sequencer(), row.before);
      std::optional<Checkpoint> last;
      SequencerOptions options = fixture.options();
      options.last_checkpoint = [&] { return last; };
      Sequencer sequencer(options, {counter_domain()});
      add(*fixture.sequencer(), row.after_start);
      if (row.is_signed) {
        const TreeHead head = read_tree_head(fixture.owner);
        last = Checkpoint{"log/" + head.log_id, head.size, head.root};
      }
      put_back_to_one(fixture);
      add(*fixture.sequencer(), row.fork);
      const std::int64_t before = fixture.events();
      const auto result = submit(sequencer, counter_command({Add{"b", 1}}));
      const std::string refuses = sequencer.status().refuses;
      const bool stops = *row.why != '\0';
      BOOST_CHECK_EQUAL(is_error<WritingStopped>(result), stops);
      BOOST_CHECK_MESSAGE(refuses.empty() != stops && refuses.find(row.why) != std::string::npos,
                          refuses);
      BOOST_CHECK_EQUAL(fixture.events(), stops ? before : before + 1);
    }
}

BOOST_AUTO_TEST_CASE(what_was_acknowledged_last_is_kept_at_the_end) {
  SequencerOptions options = this->options();
  std::vector<std::int64_t> kept;
  options.keep = [&](Position position, const Digest&) {
    kept.push_back(position.value);
    throw std::runtime_error("the disk is full");
  };
  Sequencer(options, {counter_domain()}).stop();
  BOOST_CHECK(kept.empty());
  {
    Sequencer sequencer(options, {counter_domain()});
    for (int i = 0; i < 3; ++i) accepted(submit(sequencer, counter_command({Add{"a", 1}})));
    sequencer.stop();
    BOOST_CHECK_EQUAL(kept.size(), 1u);
  }
  BOOST_CHECK_EQUAL(kept.front(), 3);
  BOOST_REQUIRE(!warnings().empty());
  BOOST_CHECK(warnings()[0].find("the disk is full") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_another_process_has_appended_is_no_reason_to_stop) {
  const auto sequencer = this->sequencer();
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  const auto other = this->sequencer();
  accepted(submit(*other, counter_command({Add{"a", 1}})));
  terminate_app_sessions();
  BOOST_CHECK_EQUAL(
      accepted(submit(*sequencer, counter_command({Add{"a", 1}}))).events[0].position.value, 3);
  BOOST_CHECK(sequencer->status().refuses.empty());
}

BOOST_AUTO_TEST_CASE(a_database_that_may_not_be_written_is_unavailable) {
  const auto sequencer = this->sequencer();
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  owner.exec("ALTER DATABASE " + database.name() + " SET default_transaction_read_only = on");
  terminate_app_sessions();
  const auto result = submit(*sequencer, counter_command({Add{"a", 1}}));
  BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(result), error_text(result));
  owner.exec("ALTER DATABASE " + database.name() + " RESET default_transaction_read_only");
  terminate_app_sessions();
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  BOOST_CHECK_EQUAL(total("a"), 2);
}

BOOST_AUTO_TEST_CASE(a_sequencer_does_not_start_on_a_database_without_a_log) {
  const TestDatabase empty = TestDatabase::empty();
  SequencerOptions options = this->options();
  options.conninfo = empty.owner();
  BOOST_CHECK_THROW(Sequencer(options, {counter_domain()}), StartError);
}

/// Puts a clock of the test's own before PostgreSQL's. It is as far ahead as the table says.
struct ClockFixture : LogFixture {
  ClockFixture() {
    owner.exec(
        "CREATE TABLE test_clock (ahead interval); INSERT INTO test_clock VALUES ('0');"
        "GRANT SELECT ON test_clock TO writ_app;"
        "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
        " 'SELECT pg_catalog.clock_timestamp() + ahead FROM writ.test_clock'");
  }
  void set_ahead(const std::string& interval) {
    owner.exec("UPDATE test_clock SET ahead = '" + interval + "'");
  }

  SequencerOptions clock_options() {
    SequencerOptions options = this->options();
    const std::string path = "search_path=writ";
    const auto at = options.conninfo.find(path);
    BOOST_REQUIRE(at != std::string::npos);
    options.conninfo.insert(at + path.size(), ",pg_catalog");
    return options;
  }
};

BOOST_FIXTURE_TEST_CASE(a_clock_far_ahead_is_not_recorded, ClockFixture) {
  Sequencer sequencer(clock_options(), {counter_domain()});
  accepted(submit(sequencer, counter_command({Add{"a", 1}})));
  set_ahead("61 min");
  const auto result = submit(sequencer, counter_command({Add{"a", 1}}));
  BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(result), error_text(result));
  BOOST_CHECK(error_text(result).find("--accept-clock") != std::string::npos);
  BOOST_CHECK_EQUAL(events(), 1);
  BOOST_CHECK_GT(sequencer.status().clock_skew.count(), 3600 * 1'000'000L);
  set_ahead("0");
  accepted(submit(sequencer, counter_command({Add{"a", 1}})));
  check_log(*this);
}

BOOST_FIXTURE_TEST_CASE(a_clock_far_ahead_is_recorded_on_demand, ClockFixture) {
  set_ahead("2 days");
  SequencerOptions options = clock_options();
  options.accept_clock = true;
  Sequencer sequencer(options, {counter_domain()});
  const Accepted first = accepted(submit(sequencer, counter_command({Add{"a", 1}})));
  BOOST_CHECK(!warnings().empty());
  // The clock is set right; recorded times stand still until it has caught up.
  set_ahead("0");
  const Accepted second = accepted(submit(sequencer, counter_command({Add{"a", 1}})));
  BOOST_CHECK(second.recorded_at == first.recorded_at);
  BOOST_CHECK_EQUAL(number("SELECT count(DISTINCT recorded_at) FROM events"), 1);
  check_log(*this);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
