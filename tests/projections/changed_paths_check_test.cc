#include "projections/changed_paths_check.h"

#include <boost/test/unit_test.hpp>

#include "events/errors.h"
#include "projections/changed_paths.h"
#include "tests/projections/settings_log.h"

namespace writ {
namespace {

std::string with_queue(const std::string& queue, const std::string& labels) {
  return R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":")" + queue +
         R"("}},"labels":{"state":"SETTING_STATE_VALUE","mapValue":{"entries":{)" + labels + "}}}}";
}

struct IndexFixture : SettingsLog {
  IndexFixture() {
    write({created("v1:::", with_queue("a", R"("x":"1")"))});  // 1: queue, labels, x
    write({{{"other/x"}, "other.created", "not JSON", {}}});   // 2
    write({created("v1::d:", "{}"), updated("v1::d:", with_queue("b", ""))});  // 3, 4
    write({updated("v1:::", with_queue("a", R"("x":"2")"))});                  // 5: x
    write({updated("v1:::", with_queue("c", R"("x":"2")"))});                  // 6: queue
    index();
  }

  void index() {
    Connection connection(database.app());
    while (index_changed_paths(connection, 2).value <
           std::stoll(text("SELECT position FROM log_head"))) {
    }
  }

  CheckedIndex check() {
    return check_changed_paths(database.app(), [](auto...) {});
  }

  /// What is wrong, "" when nothing is.
  std::string finding() {
    try {
      check();
      return "";
    } catch (const CorruptLog& e) {
      return e.what();
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(changed_paths_check, IndexFixture)

BOOST_AUTO_TEST_CASE(an_index_as_it_was_written_is_right) {
  const CheckedIndex checked = check();
  BOOST_CHECK_EQUAL(checked.position.value, 6);
  BOOST_CHECK_EQUAL(std::to_string(checked.rows), text("SELECT count(*) FROM changed_paths"));
  BOOST_CHECK_GT(checked.rows, 5);
  const TestDatabase empty;
  BOOST_CHECK_EQUAL(check_changed_paths(empty.app(), [](auto...) {}).rows, 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_indexed_yet_is_not_missing) {
  write({updated("v1:::", with_queue("d", ""))});
  BOOST_CHECK_EQUAL(check().position.value, 6);
  index();
  BOOST_CHECK_EQUAL(check().position.value, 7);
}

BOOST_AUTO_TEST_CASE(whatever_differs_is_found_and_named) {
  struct Row {
    const char* sql;
    const char* finding;
  };
  for (const Row& row : {
           Row{"DELETE FROM changed_paths WHERE position = 6",
               "changed_paths row run.default_queue at position 6: the row is missing"},
           Row{"INSERT INTO changed_paths VALUES ('run.default_queue', 5, 'settings/v1:::')",
               "changed_paths row run.default_queue at position 5: the event did not change that"},
           Row{"INSERT INTO changed_paths VALUES ('run.default_queue', 2, 'other/x')",
               "changed_paths row run.default_queue at position 2: the event did not change that"},
           Row{"UPDATE changed_paths SET stream = 'settings/v1::d:' WHERE position = 6",
               "changed_paths row run.default_queue at position 6: stream"},
           Row{"UPDATE changed_paths SET path = 'labels' WHERE position = 6",
               "changed_paths row labels at position 6: the event did not change that"},
           Row{"UPDATE projections SET position = 9 WHERE name = 'changed_paths'",
               "the read model changed_paths is beyond the head"},
       })
    BOOST_TEST_CONTEXT(row.sql) {
      owner.exec(std::string("BEGIN; CREATE TABLE kept AS SELECT * FROM changed_paths; ") +
                 row.sql + "; COMMIT");
      BOOST_CHECK_EQUAL(finding(), row.finding);
      owner.exec(
          "BEGIN; TRUNCATE changed_paths; INSERT INTO changed_paths SELECT * FROM kept;"
          " DROP TABLE kept; UPDATE projections SET position = 6; COMMIT");
      BOOST_CHECK_EQUAL(finding(), "");
    }
}

BOOST_AUTO_TEST_CASE(what_an_erased_event_changed_is_taken_as_it_is) {
  erase(5);
  index();
  BOOST_CHECK_EQUAL(finding(), "");
  owner.exec("DELETE FROM changed_paths WHERE position = 1 AND path = 'run.default_queue'");
  BOOST_CHECK_EQUAL(finding(),
                    "changed_paths row run.default_queue at position 1: the row is missing");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
