#include "tests/service/hostile.h"

#include <boost/test/unit_test.hpp>

namespace writ::test {
namespace {

#ifdef WRIT_SANITIZED
constexpr int kSlowdown = 5;
#else
constexpr int kSlowdown = 1;
#endif

}  // namespace

void Besieged::check_good_client(std::chrono::milliseconds limit) {
  BOOST_TEST(good().gets(3));
  const GoodClient::Report report = good().report();
  BOOST_TEST(report.wrong == "");
  BOOST_TEST(report.slowest.count() < kSlowdown * limit.count());
}

void Besieged::check_good_client_always_got_in() {
  check_good_client();
  BOOST_TEST(good().report().turned_away == 0U);
}

}  // namespace writ::test
