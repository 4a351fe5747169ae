#include "events/clock_check.h"

#include <boost/test/unit_test.hpp>

namespace writ {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const Timestamp kNoon{hours(24 * 20'000 + 12)};

}  // namespace

BOOST_AUTO_TEST_SUITE(clock_check_tests)

BOOST_AUTO_TEST_CASE(the_skew_is_how_far_the_database_is_ahead_of_the_host) {
  struct Row {
    const char* name;
    microseconds ahead;
    bool worth_a_line;
    bool refused;
  };
  const Row rows[] = {
      {"the same", seconds(0), false, false},
      {"5 s ahead", seconds(5), false, false},
      {"just over 5 s ahead", seconds(5) + microseconds(1), true, false},
      {"just over 5 s behind", -seconds(5) - microseconds(1), true, false},
      {"1 h ahead", hours(1), true, false},
      {"just over 1 h ahead", hours(1) + microseconds(1), true, true},
      {"a day behind", -hours(24), true, false},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      ClockCheck check;
      const auto found = check.check(kNoon + row.ahead, kNoon, hours(3));
      BOOST_CHECK_EQUAL(found.skew.count(), row.ahead.count());
      BOOST_CHECK_EQUAL(found.worth_a_line, row.worth_a_line);
      BOOST_CHECK_EQUAL(found.too_far_ahead.has_value(), row.refused);
      if (found.too_far_ahead) BOOST_CHECK(*found.too_far_ahead == row.ahead);
    }
  }
}

BOOST_AUTO_TEST_CASE(clocks_that_are_apart_are_told_once_until_they_meet_again) {
  ClockCheck check;
  const auto told = [&](microseconds ahead) {
    return check.check(kNoon + ahead, kNoon, hours(3)).worth_a_line;
  };
  BOOST_CHECK(told(seconds(10)));
  BOOST_CHECK(!told(seconds(11)));
  BOOST_CHECK(!told(seconds(0)));
  BOOST_CHECK(told(-seconds(10)));
}

BOOST_AUTO_TEST_CASE(a_jump_of_a_clock_that_both_share_is_seen_by_the_time_that_has_passed) {
  ClockCheck check;
  BOOST_CHECK(!check.check(kNoon, kNoon, hours(3)).too_far_ahead);
  // Both were set a year ahead while a minute passed.
  const Timestamp later = kNoon + hours(24 * 365);
  const auto found = check.check(later, later, hours(3) + minutes(1));
  BOOST_REQUIRE(found.too_far_ahead);
  BOOST_CHECK(*found.too_far_ahead == hours(24 * 365) - minutes(1));
  BOOST_CHECK(!found.worth_a_line);
  // And back again.
  BOOST_CHECK(
      !check.check(kNoon + minutes(2), kNoon + minutes(2), hours(3) + minutes(2)).too_far_ahead);
}

BOOST_AUTO_TEST_CASE(time_that_has_really_passed_is_no_jump) {
  ClockCheck check;
  check.check(kNoon, kNoon, hours(3));
  const Timestamp later = kNoon + hours(24 * 365);
  BOOST_CHECK(!check.check(later, later, hours(3) + hours(24 * 365)).too_far_ahead);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
