// The step that gives a log its Merkle tree, on logs that were there before it.

#include <boost/test/unit_test.hpp>

#include "events/migrator.h"
#include "migrations/migrations.h"
#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"
#include "tests/support/tree_checks.h"

namespace writ {
namespace {

constexpr int kStep = 4;

/// A database as the programs before the step left it, with `events` events.
TestDatabase before_the_step(std::int64_t events) {
  TestDatabase database = TestDatabase::empty();
  Connection owner(database.owner());
  owner.exec("CREATE SCHEMA writ; CREATE SCHEMA writ_build");
  for (int i = 0; i < kStep - 1; ++i) owner.exec(migrations()[static_cast<std::size_t>(i)].sql);
  owner.exec(
      "SET synchronous_commit = off; INSERT INTO schema_info (version, min_program) VALUES (3, 1);"
      "INSERT INTO events (position, stream, version, type, recorded_at, actor, reason, request_id,"
      " command_id, payload, payload_salt, envelope, leaf_hash) SELECT i, 'counter/a', i,"
      " 'counter.added', 'epoch'::timestamptz + i * interval '1 s', 'a', '', '',"
      " gen_random_uuid(), '{\"total\":' || i || '}', '\\x00', i::text,"
      " sha256('\\x00'::bytea || convert_to(i::text, 'UTF8')) FROM generate_series(1, " +
      std::to_string(events) + ") i; UPDATE log_head SET position = " + std::to_string(events));
  return database;
}

void migrate_to_now(const TestDatabase& database) {
  migrate(database.owner(), true, [](const std::string&) {});
}

std::string refusal(Connection& connection, const std::string& sql) {
  try {
    connection.exec(sql);
    return "";
  } catch (const StorageError& e) {
    return e.sqlstate();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tree_migration_tests)

BOOST_AUTO_TEST_CASE(a_log_that_exists_gets_its_tree) {
  for (const std::int64_t events : {0, 1, 2, 3, 255, 256, 257, 300, 511, 66'000})
    BOOST_TEST_CONTEXT(events << " events") {
      const TestDatabase database = before_the_step(events);
      migrate_to_now(database);
      Connection owner(database.owner());
      BOOST_TEST(broken_tree(owner) == std::vector<std::string>{},
                 boost::test_tools::per_element());
      BOOST_CHECK_EQUAL(owner.exec("SELECT count(*) FROM tiles")[0][0].as<std::int64_t>(),
                        events / 256 + events / 65'536);
    }
}

BOOST_AUTO_TEST_CASE(the_tree_of_a_migrated_log_grows_on) {
  for (const std::int64_t events : {255, 300}) {
    const TestDatabase database = before_the_step(events);
    migrate_to_now(database);
    Connection owner(database.owner());
    owner.exec(kCounterTables);
    SequencerOptions options;
    options.conninfo = database.app();
    Sequencer sequencer(options, {counter_domain()});
    for (int i = 0; i < 260; ++i) accepted(submit(sequencer, counter_command({Add{"b", 1}})));
    BOOST_TEST(broken_tree(owner) == std::vector<std::string>{}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_program_that_knows_no_tree_cannot_append) {
  const TestDatabase database = before_the_step(3);
  Connection running(database.owner());  // since before the step
  running.exec("PREPARE move_head (bigint) AS UPDATE log_head SET position = $1");
  migrate_to_now(database);
  BOOST_CHECK_EQUAL(refusal(running, "EXECUTE move_head (4)"), "23514");
  BOOST_CHECK_EQUAL(running.exec("SELECT min_program FROM schema_info")[0][0].as<int>(), 2);
}

BOOST_AUTO_TEST_CASE(a_log_with_a_hole_is_not_given_a_tree) {
  const TestDatabase database = before_the_step(3);
  Connection owner(database.owner());
  owner.exec("ALTER TABLE events DISABLE TRIGGER ALL; DELETE FROM events WHERE position = 2");
  BOOST_CHECK_THROW(migrate_to_now(database), StartError);
  BOOST_CHECK_EQUAL(owner.exec("SELECT version FROM schema_info")[0][0].as<int>(), kStep - 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
