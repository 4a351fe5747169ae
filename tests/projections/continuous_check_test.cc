#include "projections/continuous_check.h"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "projections/read_models.h"
#include "projections/rebuild.h"
#include "tests/projections/settings_log.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

std::string queue(const std::string& name) {
  return R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":")" + name +
         R"("}}})";
}

struct CheckFixture : SettingsLog {
  CheckFixture() {
    for (int i = 0; i < 9; ++i) write({created("v1::d" + std::to_string(i) + ":", queue("a"))});
    options.pause = std::chrono::milliseconds(1);
    options.keys = 2;
    options.rest = 0;
    options.shortest_rest = std::chrono::milliseconds(0);
  }

  std::unique_ptr<ContinuousCheck> start() {
    return std::make_unique<ContinuousCheck>(database.app(), options, [this](const auto& line) {
      const std::lock_guard lock(mutex);
      told.push_back(line);
    });
  }

  static bool passes(const ContinuousCheck& check, std::uint64_t more = 2) {
    const std::uint64_t before = check.status().passes;
    return wait_until([&] { return check.status().passes >= before + more; });
  }

  ContinuousCheckOptions options;
  std::mutex mutex;
  std::vector<std::string> told;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(continuous_check_tests, CheckFixture)

BOOST_AUTO_TEST_CASE(a_difference_is_told_once_and_gone_once_it_is_mended) {
  const auto check = start();
  BOOST_REQUIRE(passes(*check));
  BOOST_CHECK_EQUAL(check->status().differences, 0u);
  BOOST_CHECK_GE(check->status().rows, 18u);
  const std::string stored = text("SELECT data::text FROM settings WHERE key = 'v1::d5:'");
  owner.exec("UPDATE settings SET data = '" + queue("b") + "' WHERE key = 'v1::d5:'");
  BOOST_REQUIRE(wait_until([&] { return check->status().differences == 1; }));
  BOOST_CHECK_EQUAL(check->status().first, "settings of v1::d5:: run.default_queue");
  BOOST_REQUIRE(passes(*check, 3));
  owner.exec("UPDATE settings SET data = '" + stored + "' WHERE key = 'v1::d5:'");
  BOOST_REQUIRE(passes(*check));
  BOOST_CHECK_EQUAL(check->status().differences, 0u);
  BOOST_CHECK_EQUAL(check->status().first, "");
  const std::lock_guard lock(mutex);
  BOOST_REQUIRE_EQUAL(told.size(), 1u);
  BOOST_CHECK(told[0].find("settings of v1::d5:: run.default_queue") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(rows_that_are_missing_or_too_many_are_found) {
  owner.exec("DELETE FROM settings WHERE key = 'v1::d0:'");
  const auto check = start();
  BOOST_REQUIRE(wait_until([&] { return check->status().differences > 0; }));
  BOOST_CHECK_EQUAL(check->status().first, "settings of v1::d0:: the row is missing");
  rebuild(database.app(), settings_model(), [](auto...) {});
  BOOST_REQUIRE(passes(*check));
  BOOST_CHECK_EQUAL(check->status().differences, 0u);
  owner.exec(
      "INSERT INTO settings SELECT 99, 'v1::zz:', data, 1, now(), now() FROM settings LIMIT 1");
  BOOST_REQUIRE(wait_until([&] { return check->status().differences > 0; }));
  BOOST_CHECK_EQUAL(check->status().first, "settings of v1::zz:: the log has no such record");
}

BOOST_AUTO_TEST_CASE(writers_and_rebuilds_are_no_differences_and_do_not_wait) {
  const auto check = start();
  for (int n = 0; n < 300; ++n) {
    write({updated("v1::d" + std::to_string(n % 9) + ":", queue(std::to_string(n)))});
    if (n % 50 == 0) rebuild(database.app(), settings_model(), [](auto...) {}, {.streams = 3});
  }
  BOOST_REQUIRE(passes(*check));
  BOOST_CHECK_EQUAL(check->status().differences, 0u);
  const std::lock_guard lock(mutex);
  BOOST_CHECK(told.empty());
}

BOOST_AUTO_TEST_CASE(it_stops_at_once_also_in_a_pause) {
  options.pause = std::chrono::hours(1);
  { const auto check = start(); }
  options.pause = std::chrono::milliseconds(1);
  options.shortest_rest = std::chrono::hours(1);
  { const auto check = start(); }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
