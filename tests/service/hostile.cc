#include "tests/service/hostile.h"

#include <boost/test/unit_test.hpp>

namespace writ::test {

void Besieged::check_good_client(std::chrono::milliseconds limit) {
  BOOST_TEST(good_.gets(3));
  const GoodClient::Report report = good_.report();
  BOOST_TEST(report.wrong == "");
  BOOST_TEST(report.slowest.count() < limit.count());
}

}  // namespace writ::test
