#include "service/listen_address.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <string>

namespace writ {
namespace {

BOOST_AUTO_TEST_SUITE(listen_address)

BOOST_AUTO_TEST_CASE(an_address_is_read_and_written_back) {
  struct Row {
    const char* text;
    const char* host;
    int port;
    bool loopback;
  };
  const Row rows[] = {
      {"127.0.0.1:8080", "127.0.0.1", 8080, true},
      {"[::1]:0", "::1", 0, true},
      {"localhost:65535", "localhost", 65535, true},
      {"127.9.9.9:1", "127.9.9.9", 1, true},
      {"0.0.0.0:80", "0.0.0.0", 80, false},
      {"[::]:80", "::", 80, false},
      {":80", "", 80, false},
      {"example.org:80", "example.org", 80, false},
      {"notlocalhost:80", "notlocalhost", 80, false},
      {"128.0.0.1:80", "128.0.0.1", 80, false},
  };
  for (const Row& row : rows) {
    const ListenAddress address = parse_listen_address(row.text);
    BOOST_TEST(address.host == row.host, row.text);
    BOOST_TEST(address.port == row.port, row.text);
    BOOST_TEST(address.text() == row.text);
    BOOST_TEST(address.is_loopback() == row.loopback, row.text);
  }
}

BOOST_AUTO_TEST_CASE(a_bad_address_is_refused) {
  for (const char* text :
       {"", "8080", "localhost", "localhost:", "localhost:65536", "localhost:-1", "localhost:http",
        "::1:80", "[::1]", "[localhost]:80", "[::1:80", "a:1 "}) {
    BOOST_CHECK_THROW(parse_listen_address(text), ListenError);
  }
}

BOOST_AUTO_TEST_CASE(a_second_server_on_a_port_is_told_why_it_cannot_listen) {
  ListenAddress address{"127.0.0.1", 0};
  const int fd = open_listener(address, 1);
  BOOST_TEST(address.port != 0);
  ListenAddress again = address;
  BOOST_CHECK_EXCEPTION(open_listener(again, 1), ListenError, [&](const ListenError& error) {
    return error.what() == "cannot listen on " + address.text() + ": Address already in use";
  });
  close(fd);
}

BOOST_AUTO_TEST_CASE(the_host_of_an_authority_is_found) {
  BOOST_TEST(host_without_port("localhost:80") == "localhost");
  BOOST_TEST(host_without_port("localhost") == "localhost");
  BOOST_TEST(host_without_port("[::1]:80") == "::1");
  BOOST_TEST(host_without_port("[::1]") == "::1");
  BOOST_TEST(host_without_port("") == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
