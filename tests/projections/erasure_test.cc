#include "events/erasure.h"

#include <boost/test/unit_test.hpp>

#include "events/errors.h"
#include "projections/changed_paths.h"
#include "projections/read_models.h"
#include "projections/rebuild.h"
#include "projections/verify.h"
#include "tests/projections/settings_log.h"
#include "tests/support/tree_checks.h"

namespace writ {
namespace {

struct ErasureFixture : SettingsLog {
  ErasureFixture() {
    write({created("v1:::", R"({"n":1})")});
    write({updated("v1:::", R"({"n":2})")});
    write({created("v1::d:", "{}")});
  }

  std::string refused(std::int64_t position) {
    const Outcome outcome = erase(position);
    if (const auto* rejected = std::get_if<Rejected>(&outcome))
      switch (std::any_cast<ErasureRefused>(rejected->why)) {
        case ErasureRefused::kNoEvent:
          return "no event";
        case ErasureRefused::kOfLog:
          return "of the log";
        case ErasureRefused::kAlready:
          return "already";
        case ErasureRefused::kNewest:
          return "newest";
      }
    return "";
  }

  std::string head() { return text("SELECT position FROM log_head"); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(erasure_tests, ErasureFixture)

BOOST_AUTO_TEST_CASE(an_erased_event_has_no_content_and_an_event_says_so) {
  const std::string before = text("SELECT envelope FROM events WHERE position = 1");
  const Outcome outcome = erase(1);
  const Accepted& accepted = std::get<Accepted>(outcome);
  BOOST_REQUIRE_EQUAL(accepted.events.size(), 1u);
  BOOST_CHECK_EQUAL(accepted.events[0].position.value, 4);
  BOOST_CHECK_EQUAL(
      lines("SELECT payload IS NULL, payload_salt IS NULL FROM events WHERE position = 1"),
      "t | t | \n");
  BOOST_CHECK_EQUAL(text("SELECT envelope FROM events WHERE position = 1"), before);
  BOOST_CHECK_EQUAL(
      lines("SELECT stream, type, actor, reason, envelope::jsonb -> 'detail' FROM events WHERE"
            " position = 4"),
      "log | log.erased | eraser | asked to | {\"erased_position\": \"1\"} | \n");
  BOOST_TEST(broken_tree(owner) == std::vector<std::string>{}, boost::test_tools::per_element());
  BOOST_CHECK_NO_THROW(verify(database.app(), std::nullopt, [](auto...) {}));
  write({updated("v1::d:", R"({"n":7})")});
  const std::string live = rows();
  rebuild(database.app(), settings_model(), [](auto...) {});
  BOOST_CHECK_EQUAL(rows(), live);
  BOOST_CHECK_NO_THROW(verify(database.app(), std::nullopt, [](auto...) {}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_erased_is_refused_and_leaves_no_event) {
  BOOST_CHECK_EQUAL(refused(2), "newest");
  BOOST_CHECK_EQUAL(refused(3), "newest");
  BOOST_CHECK_EQUAL(refused(9), "no event");
  BOOST_CHECK_EQUAL(refused(4), "no event");  // its own record would be there
  BOOST_CHECK_EQUAL(head(), "3");
  BOOST_CHECK_EQUAL(refused(1), "");
  BOOST_CHECK_EQUAL(refused(1), "already");
  BOOST_CHECK_EQUAL(refused(4), "of the log");
  BOOST_CHECK_EQUAL(head(), "4");
  BOOST_CHECK_EQUAL(text("SELECT count(*) FROM events WHERE payload IS NULL"), "1");
}

BOOST_AUTO_TEST_CASE(without_the_record_nobody_erases) {
  Connection app(database.app());
  BOOST_CHECK_THROW(app.exec("SELECT erase_event(1)"), StorageError);
  erase(1);
  BOOST_CHECK_THROW(app.exec("SELECT erase_event(2)"), StorageError);
  BOOST_CHECK_THROW(app.exec("UPDATE events SET payload = NULL, payload_salt = NULL"),
                    StorageError);
  BOOST_CHECK_EQUAL(text("SELECT count(*) FROM events WHERE payload IS NULL"), "1");
}

BOOST_AUTO_TEST_CASE(who_may_not_append_may_not_operate_either) {
  owner.exec(
      "DO $$ BEGIN CREATE ROLE writ_test_reader LOGIN; EXCEPTION WHEN duplicate_object OR"
      " unique_violation THEN NULL; END $$; GRANT USAGE ON SCHEMA writ TO writ_test_reader");
  Connection reader(with_session_settings(database.conninfo({{"user", "writ_test_reader"}})));
  for (const char* call : {"SELECT erase_event(1)", "SELECT begin_build('settings', 1, true)",
                           "SELECT finish_build('settings')", "SELECT analyze_build('settings')"})
    BOOST_CHECK_EXCEPTION(reader.exec(call), StorageError,
                          [](const StorageError& e) { return e.sqlstate() == "42501"; });
  owner.exec("REVOKE USAGE ON SCHEMA writ FROM writ_test_reader");
}

BOOST_AUTO_TEST_CASE(the_index_of_changed_settings_keeps_what_an_erased_event_had_changed) {
  // The queue stays what it is: as far as the log can still tell, it might have changed twice.
  const auto account = [](const std::string& name) {
    return R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":"q"}},)"
           R"("security":{"serviceAccount":{"state":"SETTING_STATE_VALUE","stringValue":")" +
           name + R"("}}})";
  };
  write({created("v1::q:", account("a"))});
  write({updated("v1::q:", account("b"))});
  write({updated("v1::q:", account("c"))});
  while (index_changed_paths(owner, 100).value < 6) {
  }
  const std::string all = "SELECT * FROM changed_paths ORDER BY path, position";
  const std::string before = lines(all);
  BOOST_CHECK(before.find("security.service_account | 5 |") != std::string::npos);
  erase(5);
  rebuild_changed_paths(database.app(), [](auto...) {}, {.events = 2});
  BOOST_CHECK_EQUAL(lines(all), before);
  BOOST_CHECK_EQUAL(text("SELECT position FROM projections WHERE name = 'changed_paths'"), "7");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
