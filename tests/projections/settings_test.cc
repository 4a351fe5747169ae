#include "projections/settings.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/projections/settings_log.h"

namespace writ {

BOOST_FIXTURE_TEST_SUITE(settings_projection_tests, SettingsLog)

BOOST_AUTO_TEST_CASE(a_created_record_is_a_row) {
  write({{{"other/x"}, "other.created", "{}", {}}});
  write({created("v1::d:p", R"({"run":{"defaultQueue":{}}})")});
  BOOST_CHECK_EQUAL(text("SELECT id FROM settings"), "2");
  BOOST_CHECK_EQUAL(text("SELECT key FROM settings"), "v1::d:p");
  BOOST_CHECK_EQUAL(text("SELECT version FROM settings"), "1");
  BOOST_CHECK_EQUAL(text("SELECT count(*) FROM settings, events e WHERE e.position = 2 AND"
                         " created_at = e.recorded_at AND updated_at = e.recorded_at"),
                    "1");
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(an_update_moves_all_but_the_creation) {
  write({created("v1:::", R"({"a":1})")});
  const Accepted last = write({updated("v1:::", R"({"a":2})")});
  BOOST_CHECK_EQUAL(text("SELECT data::text FROM settings"), R"({"a": 2})");
  BOOST_CHECK_EQUAL(text("SELECT id FROM settings"), "1");
  BOOST_CHECK_EQUAL(text("SELECT version FROM settings"), "2");
  BOOST_CHECK_EQUAL(text("SELECT created_at = (SELECT recorded_at FROM events WHERE position = 1)"
                         " FROM settings"),
                    "t");
  BOOST_CHECK_EQUAL(text("SELECT (extract(epoch FROM updated_at) * 1000000)::bigint FROM settings"),
                    std::to_string(last.recorded_at.time_since_epoch().count()));
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(of_several_events_of_a_stream_in_one_batch_the_last_counts) {
  write({created("v1::d:", R"({"n":1})"), created("v1:::", R"({"n":1})"),
         updated("v1::d:", R"({"n":2})"), updated("v1::d:", R"({"n":10})")});
  BOOST_CHECK_EQUAL(text("SELECT data::text FROM settings WHERE key = 'v1::d:'"), R"({"n": 10})");
  BOOST_CHECK_EQUAL(text("SELECT id FROM settings WHERE key = 'v1::d:'"), "1");
  BOOST_CHECK_EQUAL(text("SELECT version FROM settings WHERE key = 'v1::d:'"), "3");
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
  std::vector<NewEvent> many;
  for (int i = 0; i < 12; ++i) many.push_back(updated("v1:::", std::to_string(i)));
  write(many);
  BOOST_CHECK_EQUAL(text("SELECT data::text FROM settings WHERE key = 'v1:::'"), "11");
  BOOST_CHECK_EQUAL(text("SELECT version FROM settings WHERE key = 'v1:::'"), "13");
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(streams_of_others_are_left_alone) {
  write({{{"settings"}, "settings.created", "{}", {}},
         {{"settingsx/v1:::"}, "settings.created", "{}", {}},
         {{"resource/settings/"}, "resource.created", "not JSON", {}}});
  BOOST_CHECK_EQUAL(rows(), "");
  BOOST_CHECK_EQUAL(text("SELECT position FROM projections WHERE name = 'settings'"), "3");
}

BOOST_AUTO_TEST_CASE(rows_are_fetched_by_their_keys) {
  const std::string hostile = "v1::\"d',\\{}:NULL";
  write({created("v1:::", R"({"n":1})"), created("v1::d:", R"({"n":2})"), created(hostile, "{}")});
  write({updated("v1::d:", R"({"n":"é\u0001🚀"})")});
  Connection reader(database.app());
  prepare_settings_queries(reader);
  auto found = fetch_settings(reader, {"v1:::", "v1::d:", "v1::d:p", hostile, ""});
  std::ranges::sort(found, {}, &SettingsRow::key);
  BOOST_REQUIRE_EQUAL(found.size(), 3u);
  BOOST_CHECK_EQUAL(found[0].key, hostile);
  BOOST_CHECK_EQUAL(found[1].key, "v1:::");
  BOOST_CHECK_EQUAL(found[1].data, R"({"n": 1})");
  BOOST_CHECK_EQUAL(found[1].version, 1);
  BOOST_CHECK_EQUAL(found[2].key, "v1::d:");
  BOOST_CHECK_EQUAL(found[2].data, R"({"n": "é\u0001🚀"})");
  BOOST_CHECK_EQUAL(found[2].version, 2);
  BOOST_CHECK(fetch_settings(reader, {}).empty());
  BOOST_CHECK(fetch_settings(reader, {"v1::nobody:"}).empty());
}

BOOST_AUTO_TEST_CASE(an_event_that_is_no_json_is_refused) {
  BOOST_CHECK_THROW(write({created("v1:::", "{")}), StorageError);
  BOOST_CHECK_EQUAL(text("SELECT count(*) FROM events"), "0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
