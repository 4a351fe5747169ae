#include "events/migrator.h"

#include <boost/test/unit_test.hpp>
#include <future>

#include "events/connection.h"
#include "events/sha256.h"
#include "migrations/migrations.h"
#include "tests/support/test_database.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

MigrationResult migrate(const std::string& conninfo, std::vector<std::string>* lines = nullptr) {
  return writ::migrate(conninfo, true, [&](const std::string& line) {
    if (lines != nullptr) lines->push_back(line);
  });
}

/// One text that says all of the schema and the rights that a migration could have changed.
std::string fingerprint(const TestDatabase& database) {
  Connection connection(database.owner());
  std::string all;
  for (const char* sql : {
           "SELECT version, min_program FROM schema_info",
           "SELECT relname, relkind, relowner::regrole, relacl::text FROM pg_class WHERE "
           "relnamespace IN"
           " ('writ'::regnamespace, 'writ_build'::regnamespace) ORDER BY relname",
           "SELECT nspname, nspowner::regrole, nspacl::text FROM pg_namespace WHERE nspname LIKE "
           "'writ%' ORDER BY 1",
           "SELECT proname, proowner::regrole FROM pg_proc WHERE pronamespace = "
           "'writ'::regnamespace ORDER BY 1",
           "SELECT attrelid::regclass, attname, atttypid::regtype FROM pg_attribute JOIN pg_class "
           "ON attrelid ="
           " pg_class.oid WHERE relnamespace = 'writ'::regnamespace ORDER BY 1, 2",
           "SELECT name, version FROM projections ORDER BY 1",
           "SELECT encode(log_id, 'hex'), epoch, position, recorded_at FROM log_head",
       })
    for (const pqxx::row& row : connection.exec(sql)) {
      for (const pqxx::field& field : row) all += std::string(field.c_str()) + "|";
      all += '\n';
    }
  return all;
}

struct Role {
  explicit Role(const std::string& attributes)
      : name("writ_test_" + hex(random_bytes(6))), database(TestDatabase::empty()) {
    Connection(database.owner()).exec("CREATE ROLE " + name + " " + attributes);
  }
  ~Role() { Connection(database.owner()).exec("DROP OWNED BY " + name + "; DROP ROLE " + name); }
  std::string name;
  TestDatabase database;
};

bool says(const std::exception& e, std::initializer_list<const char*> parts) {
  const std::string what = e.what();
  for (const char* part : parts)
    if (what.find(part) == std::string::npos) {
      BOOST_TEST_MESSAGE("does not say \"" << part << "\": " << what);
      return false;
    }
  return what.find('\n') == std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(migrator_tests)

BOOST_AUTO_TEST_CASE(an_empty_database_gets_every_step_and_a_second_run_none) {
  const int steps = static_cast<int>(migrations().size());
  const TestDatabase database = TestDatabase::empty();
  std::vector<std::string> lines;
  const MigrationResult first = migrate(database.owner(), &lines);
  BOOST_CHECK_EQUAL(first.from, 0);
  BOOST_CHECK_EQUAL(first.to, steps);
  BOOST_CHECK_EQUAL(lines.size(), migrations().size());
  const std::string after = fingerprint(database);
  lines.clear();
  const MigrationResult second = migrate(database.owner(), &lines);
  BOOST_CHECK_EQUAL(second.from, steps);
  BOOST_CHECK_EQUAL(second.to, steps);
  BOOST_CHECK(lines.empty());
  BOOST_CHECK_EQUAL(fingerprint(database), after);
}

BOOST_AUTO_TEST_CASE(four_that_migrate_at_once_do_it_once) {
  const TestDatabase database = TestDatabase::empty();
  std::vector<std::future<MigrationResult>> runs;
  for (int i = 0; i < 4; ++i)
    runs.push_back(std::async(std::launch::async, [&] { return migrate(database.owner()); }));
  int did = 0;
  for (auto& run : runs) {
    const MigrationResult result = run.get();
    BOOST_CHECK_EQUAL(result.to, static_cast<int>(migrations().size()));
    did += result.to - result.from;
  }
  BOOST_CHECK_EQUAL(did, static_cast<int>(migrations().size()));
  BOOST_CHECK_EQUAL(
      Connection(database.owner()).exec("SELECT count(*) FROM log_head")[0][0].as<int>(), 1);
}

BOOST_AUTO_TEST_CASE(a_migrated_database_is_left_in_peace_by_the_next_start) {
  const TestDatabase database;
  Connection reader(database.app());
  reader.exec("BEGIN; SELECT count(*) FROM events");  // as a dump or a long report would
  auto second = std::async(std::launch::async, [&] { return migrate(database.owner()); });
  Connection owner(database.owner());
  const auto done = [&] {
    return second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  const auto waits = [&] {
    return !owner
                .exec(
                    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND"
                    " wait_event_type = 'Lock'")
                .empty();
  };
  BOOST_CHECK(wait_until([&] { return done() || waits(); }));
  BOOST_CHECK(done());
  reader.exec("ROLLBACK");
  second.get();
}

BOOST_AUTO_TEST_CASE(another_encoding_than_utf8_is_refused) {
  for (const std::string encoding : {"SQL_ASCII", "LATIN1"}) {
    BOOST_TEST_CONTEXT(encoding) {
      const TestDatabase database =
          TestDatabase::empty("TEMPLATE template0 LOCALE 'C' ENCODING '" + encoding + "'");
      BOOST_CHECK_EXCEPTION(migrate(database.owner()), StartError, [&](const StartError& e) {
        return says(e,
                    {database.name().c_str(), encoding.c_str(), "must be UTF8", "ENCODING 'UTF8'"});
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(a_schema_for_newer_programs_is_refused) {
  const TestDatabase database;
  Connection owner(database.owner());
  owner.exec("UPDATE schema_info SET min_program = " + std::to_string(kProgramNumber + 1));
  BOOST_CHECK_EXCEPTION(migrate(database.owner()), StartError, [](const StartError& e) {
    return says(e, {"newer program", std::to_string(kProgramNumber + 1).c_str(),
                    std::to_string(kProgramNumber).c_str()});
  });
}

BOOST_AUTO_TEST_CASE(a_newer_schema_that_this_program_can_live_with_is_left_as_it_is) {
  const TestDatabase database;
  Connection(database.owner()).exec("UPDATE schema_info SET version = 1000");
  const MigrationResult result = migrate(database.owner());
  BOOST_CHECK_EQUAL(result.from, 1000);
  BOOST_CHECK_EQUAL(result.to, 1000);
}

BOOST_AUTO_TEST_CASE(a_step_leaves_the_least_program_to_the_steps_that_raise_it) {
  const TestDatabase database;
  Connection owner(database.owner());
  owner.exec(R"(
    DROP TABLE settings, changed_paths, tiles, builds;
    DROP FUNCTION check_may_append, columns_of, begin_build, analyze_build, finish_build,
      drop_build_indexes, add_build_indexes, erase_event;
    ALTER TABLE log_head DROP COLUMN root, DROP COLUMN frontier, DROP COLUMN tree_size;
    DROP INDEX events_actor_position, events_domain_position;
    DELETE FROM projections;
    UPDATE schema_info SET version = 1, min_program = -7)");
  migrate(database.owner());
  const pqxx::row row = owner.exec("SELECT version, min_program FROM schema_info")[0];
  BOOST_CHECK_EQUAL(row[0].as<int>(), static_cast<int>(migrations().size()));
  BOOST_CHECK_EQUAL(row[1].as<int>(), 2);  // raised by 0004
}

BOOST_AUTO_TEST_CASE(a_step_that_fails_leaves_nothing_and_says_which_it_was) {
  const TestDatabase database = TestDatabase::empty();
  Connection owner(database.owner());
  owner.exec("CREATE SCHEMA writ; CREATE TABLE writ.settings (a int)");
  BOOST_CHECK_EXCEPTION(migrate(database.owner()), StartError,
                        [](const StartError& e) { return says(e, {"0002_settings.sql"}); });
  BOOST_CHECK_EQUAL(owner.exec("SELECT version FROM schema_info")[0][0].as<int>(), 1);
  BOOST_CHECK_EQUAL(owner.exec("SELECT count(*) FROM projections")[0][0].as<int>(), 0);
  owner.exec("DROP TABLE settings");
  BOOST_CHECK_EQUAL(migrate(database.owner()).from, 1);
}

BOOST_AUTO_TEST_CASE(a_role_without_rights_is_told_so) {
  const Role role("LOGIN");
  const auto clear = [](const StartError& e) {
    return says(e, {"--migrate-url", "permission denied"});
  };
  const auto as_role = [&](const TestDatabase& database) {
    return with_session_settings(database.conninfo({{"user", role.name}}));
  };
  const TestDatabase empty = TestDatabase::empty();
  const TestDatabase migrated;
  BOOST_CHECK_EXCEPTION(migrate(as_role(empty)), StartError, clear);
  BOOST_CHECK_EXCEPTION(migrate(as_role(migrated)), StartError, clear);
}

BOOST_AUTO_TEST_CASE(the_service_role_finds_a_migrated_database_ready) {
  const TestDatabase database;
  const MigrationResult result = migrate(database.app());
  BOOST_CHECK_EQUAL(result.from, static_cast<int>(migrations().size()));
}

BOOST_AUTO_TEST_CASE(the_planner_takes_no_stream_of_a_log_that_exists_for_single) {
  const TestDatabase database = TestDatabase::empty();
  Connection owner(database.owner());
  owner.exec("CREATE SCHEMA writ; CREATE SCHEMA writ_build");
  for (std::size_t i = 0; i < 6; ++i) owner.exec(migrations()[i].sql);
  owner.exec(
      "INSERT INTO schema_info (version, min_program) VALUES (6, 2);"
      "INSERT INTO events (position, stream, version, type, recorded_at, actor, reason, request_id,"
      " command_id, payload, payload_salt, envelope, leaf_hash) SELECT i, 's' || i, 1, 't', "
      "'epoch',"
      " 'a', '', '', gen_random_uuid(), '{}', '\\x00', '', '\\x00' FROM generate_series(1, 9) i;"
      "INSERT INTO changed_paths (path, position, stream) SELECT 'labels.l' || i, i, 's' || i"
      " FROM generate_series(1, 9) i; ANALYZE events, changed_paths");
  const auto distinct = [&](const std::string& column) {
    return owner
        .exec(
            "SELECT n_distinct FROM pg_stats WHERE schemaname = 'writ' AND tablename || '.' ||"
            " attname = '" +
            column + "'")[0][0]
        .as<double>();
  };
  BOOST_TEST(distinct("events.stream") == -1);
  migrate(database.owner());
  BOOST_TEST(distinct("events.stream") == -0.1, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(distinct("changed_paths.stream") == -0.1, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(distinct("changed_paths.path") == 20);
}

BOOST_AUTO_TEST_CASE(a_role_that_owns_the_database_needs_no_other_to_migrate) {
  const Role role("LOGIN");
  const TestDatabase database =
      TestDatabase::empty("OWNER " + role.name + " TEMPLATE template0 ENCODING 'UTF8'");
  const std::string conninfo = with_session_settings(database.conninfo({{"user", role.name}}));
  BOOST_CHECK_EQUAL(migrate(conninfo).to, static_cast<int>(migrations().size()));
  BOOST_CHECK(!log_is_protected(conninfo));
  Connection connection(conninfo);
  connection.exec("BEGIN; UPDATE log_head SET position = position; ROLLBACK");
}

BOOST_AUTO_TEST_CASE(the_log_is_protected_from_the_service_and_from_nobody_above) {
  const TestDatabase database;
  BOOST_CHECK(log_is_protected(database.app()));
  BOOST_CHECK(!log_is_protected(database.owner()));
}

BOOST_AUTO_TEST_CASE(a_database_out_of_reach_is_no_start_error) {
  const TestDatabase database = TestDatabase::empty();
  BOOST_CHECK_THROW(migrate(with_session_settings(database.conninfo({{"host", "/nowhere"}}))),
                    ConnectionLost);
}

BOOST_AUTO_TEST_CASE(every_log_has_an_id_of_its_own) {
  const TestDatabase one = TestDatabase::empty();
  const TestDatabase other = TestDatabase::empty();
  const auto id_of = [](const TestDatabase& database) {
    migrate(database.owner());
    return std::string(Connection(database.owner())
                           .exec("SELECT encode(log_id, 'hex') FROM log_head")[0][0]
                           .c_str());
  };
  const std::string id = id_of(one);
  BOOST_CHECK_EQUAL(id.size(), 32u);
  BOOST_CHECK_NE(id, id_of(other));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
