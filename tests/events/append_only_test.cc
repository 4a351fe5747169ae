// The database itself refuses to change what has been recorded.

#include <boost/test/unit_test.hpp>

#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"

namespace writ {
namespace {

constexpr char kInsufficientPrivilege[] = "42501";
constexpr char kWrongState[] = "55000";  // object_not_in_prerequisite_state: our triggers

/// The SQLSTATE with which a statement is refused, "" when it is not. Its effect is undone.
std::string refusal(Connection& connection, const std::string& sql) {
  connection.exec("BEGIN");
  std::string state;
  try {
    connection.exec(sql);
  } catch (const StorageError& e) {
    state = e.sqlstate();
  }
  connection.exec("ROLLBACK");
  return state;
}

struct LogWithEvents : LogFixture {
  LogWithEvents() {
    const auto sequencer = this->sequencer();
    for (int i = 0; i < 3; ++i)
      accepted(submit(*sequencer, keyed_command("key " + std::to_string(i), "add", {Add{"a", 1}})));
  }
};

const char* const kChanges[] = {
    "UPDATE events SET actor = 'nobody'",
    "UPDATE events SET position = position + 10",
    "UPDATE events SET envelope = ''",
    "UPDATE events SET payload = '{}'",
    "UPDATE events SET payload_salt = '\\x00'",
    "UPDATE events SET payload = NULL, payload_salt = NULL, reason = 'erased'",
    "UPDATE events SET recorded_at = recorded_at - interval '1 day'",
    "DELETE FROM events",
    "DELETE FROM events WHERE position = 3",
    "TRUNCATE events",
    "UPDATE commands SET fingerprint = ''",
    "DELETE FROM commands",
    "TRUNCATE commands",
    "UPDATE tiles SET root = sha256('another')",
    "DELETE FROM tiles",
    "TRUNCATE tiles",
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(append_only_tests, LogWithEvents)

BOOST_AUTO_TEST_CASE(the_service_has_no_right_to_change_the_log) {
  Connection app(database.app());
  for (const char* change : kChanges) BOOST_TEST_CONTEXT(change) {
      BOOST_CHECK_EQUAL(refusal(app, change), kInsufficientPrivilege);
    }
  for (const char* change : {
           "INSERT INTO log_head SELECT * FROM log_head",
           "DELETE FROM log_head",
           "TRUNCATE log_head",
           "UPDATE schema_info SET min_program = 0",
           "DELETE FROM schema_info",
           "ALTER TABLE events DISABLE TRIGGER ALL",
           "DROP TRIGGER events_no_delete ON events",
           "DROP TABLE events",
           "CREATE TABLE writ.another (a int)",
           "CREATE OR REPLACE FUNCTION writ.refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
           "'BEGIN RETURN NULL; END'",
           "SET session_replication_role = replica",
           "SET ROLE writ_owner",
       })
    BOOST_TEST_CONTEXT(change) { BOOST_CHECK_EQUAL(refusal(app, change), kInsufficientPrivilege); }
  BOOST_CHECK_EQUAL(refusal(app, "UPDATE log_head SET position = position"), "");
  BOOST_CHECK_EQUAL(refusal(app, "CREATE TABLE writ_build.another (a int)"), "");
}

BOOST_AUTO_TEST_CASE(triggers_stop_even_those_who_have_the_right) {
  struct Row {
    const char* name;
    const char* session;
  };
  for (const Row& row : {Row{"the superuser", "SET session_replication_role = origin"},
                         Row{"a replica's session", "SET session_replication_role = replica"},
                         Row{"the owner", "SET ROLE writ_owner"}}) {
    Connection connection(database.owner());
    connection.exec(row.session);
    for (const char* change : kChanges) BOOST_TEST_CONTEXT(row.name << ": " << change) {
        BOOST_CHECK_EQUAL(refusal(connection, change), kWrongState);
      }
  }
}

BOOST_AUTO_TEST_CASE(a_payload_and_its_salt_are_erased_together) {
  owner.exec("SET ROLE writ_owner");
  BOOST_CHECK_NE(refusal(owner, "UPDATE events SET payload = NULL WHERE position = 1"), "");
  BOOST_CHECK_NE(refusal(owner, "UPDATE events SET payload_salt = NULL WHERE position = 1"), "");
  owner.exec("UPDATE events SET payload = NULL, payload_salt = NULL WHERE position = 1");
  owner.exec("RESET ROLE");
  BOOST_CHECK_EQUAL(number("SELECT position FROM events WHERE payload IS NULL"), 1);
  BOOST_CHECK_EQUAL(
      refusal(owner, "UPDATE events SET payload = '{}', payload_salt = '\\x00' WHERE position = 1"),
      kWrongState);
  check_log(*this);
  accepted(submit(*sequencer(), counter_command({Add{"a", 1}})));
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(the_database_itself_refuses_a_second_event_of_one_version) {
  const std::string copy =
      "INSERT INTO events SELECT %, stream, version, type, recorded_at, actor, reason, request_id, "
      "command_id,"
      " payload, payload_salt, envelope, leaf_hash FROM events WHERE position = 3";
  const auto at = copy.find('%');
  BOOST_CHECK_EQUAL(refusal(owner, std::string(copy).replace(at, 1, "4")), "23505");
  BOOST_CHECK_EQUAL(refusal(owner, std::string(copy).replace(at, 1, "3")), "23505");
}

BOOST_AUTO_TEST_CASE(a_payload_is_never_without_its_salt) {
  for (const char* texts : {"NULL, payload_salt", "payload, NULL"})
    BOOST_CHECK_EQUAL(
        refusal(owner, std::string("INSERT INTO events SELECT 4, stream, 4, type, recorded_at,"
                                   " actor, reason, request_id, command_id, ") +
                           texts + ", envelope, leaf_hash FROM events WHERE position = 3"),
        "23514");
}

BOOST_AUTO_TEST_CASE(there_is_one_head) {
  BOOST_CHECK_EQUAL(refusal(owner, "INSERT INTO log_head SELECT * FROM log_head"), "23505");
  BOOST_CHECK_EQUAL(refusal(owner,
                            "INSERT INTO log_head (log_id, epoch, position, recorded_at, root,"
                            " frontier, tree_size, only_row)"
                            " VALUES ('\\x00', 1, 0, 'epoch', '', '', 0, false)"),
                    "23514");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
