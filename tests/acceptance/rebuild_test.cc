#include <boost/test/unit_test.hpp>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {

BOOST_AUTO_TEST_SUITE(rebuilding_the_settings)

BOOST_AUTO_TEST_CASE(makes_them_what_the_log_says_while_the_service_runs) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  for (const char* domain : {"a", "b", "c"})
    client.call("CreateSettings", create_json(key_json(domain), queue_settings("one")));
  client.call("UpdateSettings", update_json(key_json("b"), queue_settings("two"), 1));
  const Json rows = settings_rows(database.conninfo());
  query(database.conninfo(),
        "UPDATE writ.settings SET data = '{}', version = 7 WHERE key = 'v1::b:'");
  query(database.conninfo(), "DELETE FROM writ.settings WHERE key = 'v1::a:'");
  query(database.conninfo(), "INSERT INTO writ.settings SELECT 9, 'v1::x:', '{}', 1, now(), now()");
  BOOST_TEST(broken_invariants(database.conninfo()).size() == 1u);

  auto arguments = on(database);
  arguments.insert(arguments.begin(), {"rebuild", "settings"});
  const WritRun rebuilt = run_writ(arguments);
  BOOST_TEST(rebuilt.status == 0, rebuilt.err);
  BOOST_TEST(rebuilt.out == "rebuilt settings: 3 rows from 4 events\n");
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
  BOOST_TEST(settings_rows(database.conninfo()) == rows);
  const auto next =
      client.call("UpdateSettings", update_json(key_json("b"), queue_settings("x"), 2));
  BOOST_TEST(next.version() == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
