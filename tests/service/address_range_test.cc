#include "service/address_range.h"

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>

namespace writ {

BOOST_AUTO_TEST_SUITE(address_ranges)

BOOST_AUTO_TEST_CASE(hold_the_addresses_with_their_beginning) {
  struct Row {
    const char* range;
    const char* address;
    bool inside;
  };
  const Row rows[] = {
      {"10.1.2.3", "10.1.2.3", true},
      {"10.1.2.3", "10.1.2.4", false},
      {"10.1.2.3", "::ffff:10.1.2.3", true},
      {"::ffff:10.1.2.3", "10.1.2.3", true},
      {"10.0.0.0/8", "10.255.0.1", true},
      {"10.0.0.0/8", "11.0.0.1", false},
      {"10.1.128.0/17", "10.1.128.1", true},
      {"10.1.128.0/17", "10.1.127.255", false},
      {"0.0.0.0/0", "1.2.3.4", true},
      {"0.0.0.0/0", "fd00::1", false},
      {"::/0", "1.2.3.4", true},
      {"fd00::/8", "fd12::1", true},
      {"fd00::/8", "fc00::1", false},
      {"::1", "::1", true},
      {"::1", "127.0.0.1", false},
      {"10.0.0.0/8", "", false},
      {"10.0.0.0/8", "localhost", false},
  };
  for (const Row& row : rows)
    BOOST_TEST(AddressRange::parse(row.range).contains(row.address) == row.inside,
               row.range << " " << row.address);
}

BOOST_AUTO_TEST_CASE(are_refused_when_they_are_none) {
  for (const char* text : {"", "/8", "localhost", "10.1.2", "10.0.0.0/33", "10.0.0.0/", "::/129",
                           "10.0.0.0/-1", "10.0.0.0/8x", " 10.0.0.1", "[::1]", "10.0.0.1:80"})
    BOOST_CHECK_THROW(AddressRange::parse(text), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
