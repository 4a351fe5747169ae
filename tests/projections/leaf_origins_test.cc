#include "projections/leaf_origins.h"

#include <boost/test/unit_test.hpp>

#include "events/log_follower.h"
#include "projections/settings.h"
#include "projections/settings_reader.h"
#include "tests/projections/settings_log.h"

namespace writ {
namespace {

const std::string kKey = "v1::d:p";
const std::string kStream = "settings/" + kKey;

std::string with_queue(const std::string& queue, const std::string& rest = "") {
  return R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":")" + queue +
         R"("}})" + rest + "}";
}

std::string with_labels(const std::string& entries) {
  return R"(,"labels":{"state":"SETTING_STATE_VALUE","mapValue":{"entries":{)" + entries + "}}}";
}

struct OriginsFixture : SettingsLog {
  ~OriginsFixture() { follower.stop(); }

  std::int64_t origin(LeafOrigins& of, std::int64_t version, const std::string& path) {
    return of.find({{kStream, {version}, path}}, deadline())[0].value;
  }
  static std::chrono::steady_clock::time_point deadline() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(30);
  }

  LogFollower follower{database.app()};
  ChangedPaths index{database.app(), follower, [](const std::string&) {}};
  ConnectionPool pool{database.app(), 2, prepare_settings_queries};
  LeafOrigins origins{pool, index};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(leaf_origins, OriginsFixture)

BOOST_AUTO_TEST_CASE(each_version_goes_back_to_the_event_that_last_changed_the_setting) {
  write({created("v1:::", with_queue("other"))});                              // 1
  write({created(kKey, with_queue("a", with_labels(R"("x":"1","y":"1")")))});  // 2, version 1
  write({updated(kKey, with_queue("a", with_labels(R"("x":"1","y":"2")")))});  // 3, version 2
  write({updated("v1:::", with_queue("another"))});                            // 4
  write({updated(kKey, with_queue("b", with_labels(R"("x":"1","y":"2")")))});  // 5, version 3
  const std::string queue = "run.default_queue", x = "labels[\"x\"]", y = "labels[\"y\"]";
  for (const bool again : {false, true}) {
    BOOST_TEST_CONTEXT("from the cache: " << again) {
      BOOST_TEST(origin(origins, 1, queue) == 2);
      BOOST_TEST(origin(origins, 2, queue) == 2);
      BOOST_TEST(origin(origins, 3, queue) == 5);
      BOOST_TEST(origin(origins, 1, y) == 2);
      BOOST_TEST(origin(origins, 3, y) == 3);
      const auto found = origins.find(
          {{kStream, {3}, x}, {"settings/v1:::", {2}, queue}, {kStream, {3}, y}}, deadline());
      BOOST_TEST((found == std::vector<Position>{{2}, {4}, {3}}));
    }
  }
  BOOST_TEST(origins.find({}, deadline()).empty());
}

BOOST_AUTO_TEST_CASE(what_was_asked_for_needs_no_query_and_only_so_much_is_kept) {
  constexpr std::int64_t kVersions = 30;
  write({created(kKey, with_queue("1"))});
  for (std::int64_t i = 2; i <= kVersions; ++i)
    write({updated(kKey, with_queue(std::to_string(i)))});
  LeafOrigins few(pool, index, 8);
  for (std::int64_t i = 1; i <= kVersions; ++i)
    BOOST_TEST(origin(few, i, "run.default_queue") == i);
  owner.exec("DELETE FROM changed_paths");
  for (std::int64_t i = kVersions - 3; i <= kVersions; ++i)
    BOOST_TEST(origin(few, i, "run.default_queue") == i);
  for (std::int64_t i = 1; i <= kVersions - 8; ++i)
    BOOST_CHECK_THROW(origin(few, i, "run.default_queue"), CorruptLog);
}

BOOST_AUTO_TEST_CASE(what_is_asked_for_again_and_again_stays) {
  constexpr std::int64_t kVersions = 30;
  write({created(kKey, with_queue("1"))});
  for (std::int64_t i = 2; i <= kVersions; ++i)
    write({updated(kKey, with_queue(std::to_string(i)))});
  LeafOrigins few(pool, index, 8);
  for (std::int64_t i = 1; i <= kVersions; ++i) {
    BOOST_TEST(origin(few, 1, "run.default_queue") == 1);
    BOOST_TEST(origin(few, i, "run.default_queue") == i);
  }
  owner.exec("DELETE FROM changed_paths");
  BOOST_TEST(origin(few, 1, "run.default_queue") == 1);
}

BOOST_AUTO_TEST_CASE(what_is_not_in_the_log_is_not_made_up) {
  write({created(kKey, with_queue("a"))});
  BOOST_CHECK_THROW(origin(origins, 2, "run.default_queue"), CorruptLog);
  BOOST_CHECK_THROW(origin(origins, 1, "pod_template_name"), CorruptLog);
}

BOOST_AUTO_TEST_CASE(a_read_with_the_head_is_of_exactly_that_position) {
  SettingsReader reader(pool, 1);
  const auto empty = reader.fetch_at_head({kKey}, deadline());
  BOOST_TEST(empty.head.value == 0);
  BOOST_TEST(!empty.stored[0]);
  write({created(kKey, with_queue("a"))});
  write({created("v1::d:", with_queue("b"))});
  const auto read = reader.fetch_at_head({"v1:::", "v1::d:", kKey}, deadline());
  BOOST_TEST(read.head.value == 2);
  BOOST_TEST(!read.stored[0]);
  BOOST_TEST(read.stored[1]->settings.run().default_queue().string_value() == "b");
  BOOST_TEST(read.stored[2]->version == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
