#include <boost/test/unit_test.hpp>

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/service/hostile.h"
#include "tests/support/wait.h"

namespace writ::test {

namespace {

using namespace std::string_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Row {
  const char* name;
  std::string bytes;
  int status;
};

std::string with_fields(const std::string& fields, const std::string& line = "GET /hello") {
  return line + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}

std::string to(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

std::string many_fields(int count) {
  std::string fields;
  for (int i = 0; i < count; ++i) fields += "X-" + std::to_string(i) + ": 1\r\n";
  return fields;
}

// Each is refused with this status and the connection is closed: what two readers could understand
// in two ways, and what is too much.
const std::vector<Row> kRefused = {
    {"no Host", "GET /hello HTTP/1.1\r\n\r\n", 400},
    {"two Hosts", with_fields("Host: evil\r\n"), 400},
    {"two equal Hosts", with_fields("host: localhost\r\n"), 400},
    {"target and Host disagree", "GET http://evil/hello HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"both framings", with_fields("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), 400},
    {"both framings, the other way",
     with_fields("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400},
    {"two lengths", with_fields("Content-Length: 3\r\nContent-Length: 4\r\n"), 400},
    {"two equal lengths", with_fields("Content-Length: 3\r\nContent-Length: 3\r\n"), 400},
    {"a list of lengths", with_fields("Content-Length: 5,5\r\n"), 400},
    {"a length with a sign", with_fields("Content-Length: +5\r\n"), 400},
    {"a negative length", with_fields("Content-Length: -1\r\n"), 400},
    {"a hexadecimal length", with_fields("Content-Length: 0x5\r\n"), 400},
    {"a length with a space", with_fields("Content-Length: 1 0\r\n"), 400},
    {"a length beyond 64 bits", with_fields("Content-Length: 99999999999999999999999\r\n"), 400},
    {"an empty length", with_fields("Content-Length:\r\n"), 400},
    {"a coding nobody knows", with_fields("Transfer-Encoding: xchunked\r\n"), 501},
    {"chunked in a list", with_fields("Transfer-Encoding: identity, chunked\r\n"), 501},
    {"chunked twice", with_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
     400},
    {"chunked after a vertical tab", with_fields("Transfer-Encoding: \vchunked\r\n"), 400},
    {"a space before the colon", with_fields("Content-Length : 5\r\n"), 400},
    {"CR in the request line", to("/hello\r"), 400},
    {"CR in front of the version", "GET /hello \rHTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"LF in the request line", to("/hel\nlo"), 400},
    {"CR LF in the target", to("/hello\r\n/x"), 400},
    {"CR in a field name", with_fields("X\rY: 1\r\n"), 400},
    {"LF in a field name", with_fields("X\nY: 1\r\n"), 400},
    {"CR LF in a field name", with_fields("X\r\nY: 1\r\n"), 400},
    {"CR in a value", with_fields("X: a\rContent-Length: 5\r\n"), 400},
    {"LF in a value", with_fields("X: a\nContent-Length: 5\r\n"), 400},
    {"a folded value", with_fields("X: a\r\n b\r\n"), 400},
    {"a folded value with a tab", with_fields("X: a\r\n\tContent-Length: 5\r\n"), 400},
    {"bare LFs only", "GET /hello HTTP/1.1\nHost: a\n\n", 400},
    {"bare CRs only", "GET /hello HTTP/1.1\rHost: a\r\r\r\n\r\n", 400},
    {"a NUL in the path", to("/hel\0lo"s), 400},
    {"a NUL in a field name", with_fields("X\0: 1\r\n"s), 400},
    {"a NUL in a value", with_fields("X: a\0b\r\n"s), 400},
    {"a NUL in front", "\0"s + to("/hello"), 400},
    {"a space in front", " " + to("/hello"), 400},
    {"an expectation nobody knows", with_fields("Expect: 200-ok\r\n"), 417},
    {"expectations twice", with_fields("Expect: 100-continue\r\nExpect: 100-continue\r\n"), 400},
    {"HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    {"HTTP/0.9", "GET /hello\r\n\r\n", 400},
    {"chunked in HTTP/1.0", "POST /hello HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc"s, 400},
    {"a long request line", to("/" + std::string(9'000, 'a')), 414},
    {"a request line without end", "GET /" + std::string(100'000, 'a'), 414},
    {"101 fields", with_fields(many_fields(100)), 431},
    {"100,000 fields", with_fields(many_fields(100'000)), 431},
    {"a large field", with_fields("X: " + std::string(40'000, 'a') + "\r\n"), 431},
    {"a field without end", "GET /hello HTTP/1.1\r\nX: " + std::string(1'000'000, 'a'), 431},
};

BOOST_AUTO_TEST_SUITE(hostile_heads)

BOOST_AUTO_TEST_CASE(are_refused_and_what_follows_is_not_read) {
  Besieged server;
  for (const Row& row : kRefused) {
    BOOST_TEST_CONTEXT(row.name) {
      RawClient client(server.port());
      client.send(row.bytes + get("/nothing"));
      const RawAnswer answer = client.receive();
      BOOST_TEST(answer.status == row.status);
      BOOST_TEST(answer.header("Connection") == "close");
      BOOST_TEST(answer.header("Content-Type") == "application/json");
      BOOST_TEST(answer.header("X-Request-Id").size() == 32U);
      client.shut_writing();
      BOOST_TEST(client.receive_bytes(1) == "");
    }
  }
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(cannot_hide_in_a_path) {
  Besieged server;
  const Row rows[] = {
      {"NUL", to("/hello%00"), 400},
      {"NUL inside", to("/hel%00lo"), 400},
      {"CR LF", to("/hello%0d%0aX:1"), 400},
      {"DEL", to("/hello%7f"), 400},
      {"a slash inside a segment", to("/hello%2F"), 404},
      {"a slash inside a route", to("/writ.reference.ReferenceService%2FEcho"), 404},
      {"dots", to("/x/../hello"), 404},
      {"escaped dots", to("/x/%2e%2e/hello"), 404},
      {"decoded once", to("/%2568ello"), 404},
      {"half an escape", to("/hello%2"), 400},
      {"not hexadecimal", to("/hello%zz"), 400},
      {"overlong UTF-8", to("/hello%c0%af"), 404},
  };
  RawClient client(server.port());
  for (const Row& row : rows) BOOST_TEST(client.exchange(row.bytes).status == row.status, row.name);
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(cannot_make_headers_of_the_answer) {
  Besieged server;
  RawClient client(server.port());
  const RawAnswer answer =
      client.exchange(get("/hello", "X-Request-Id: a%0d%0aSet-Cookie: b=c\r\n"));
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("X-Request-Id") == "a%0d%0aSet-Cookie: b=c");
  BOOST_TEST(answer.header("Set-Cookie") == "");
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(cannot_pose_as_the_connection) {
  HttpServerOptions options;
  std::mutex mutex;
  std::set<std::string> peers;
  options.log = [&](const RequestRecord& record) {
    const std::lock_guard lock(mutex);
    peers.insert(record.peer);
  };
  {
    Besieged server(options);
    RawClient client(server.port());
    const RawAnswer answer = client.exchange(
        get("/hello",
            "REMOTE_ADDR: 9.9.9.9\r\nREMOTE_PORT: 1\r\nLOCAL_ADDR: 9.9.9.9\r\nLOCAL_PORT: 1\r\n"));
    BOOST_TEST(answer.status == 200);
    server.check_good_client();
  }
  BOOST_TEST(peers == std::set<std::string>{"127.0.0.1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(cannot_ask_for_a_part_of_an_answer) {
  Besieged server;
  RawClient client(server.port());
  for (const char* range : {"bytes=0-1", "bytes=5-", "bytes=-1", "bytes=9-9", "bytes=0-0,2-2"}) {
    const RawAnswer answer =
        client.exchange(get("/hello", "Range: " + std::string(range) + "\r\n"));
    BOOST_TEST(answer.status == 200, range);
    BOOST_TEST(answer.body == "hello\n", range);
    BOOST_TEST(answer.header("Content-Range") == "", range);
  }
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(of_old_clients_are_answered_and_the_connection_closed) {
  Besieged server;
  for (const char* request :
       {"GET /hello HTTP/1.0\r\n\r\n", "GET /hello HTTP/1.0\r\nConnection: close\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"}) {
    RawClient client(server.port());
    client.send(request + get("/nothing"));
    const RawAnswer answer = client.receive();
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(answer.header("Connection") == "close");
    BOOST_TEST(client.closed_within(seconds(2)));
  }
  RawClient kept(server.port());
  const std::string request = "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  BOOST_TEST(kept.exchange(request).header("Connection") == "keep-alive");
  BOOST_TEST(kept.exchange(request).status == 200);
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(that_come_slowly_are_given_up_on_however_they_drip) {
  HttpServerOptions options;
  options.head_time = milliseconds(500);
  Besieged server(options);
  RawClient silent(server.port());
  RawClient stopped(server.port());
  stopped.send("GET /hello HTT");
  RawClient dripping(server.port());
  dripping.send("GET /hello HTTP/1.1\r\nX: ");
  const auto start = std::chrono::steady_clock::now();
  while (!dripping.hears_within(milliseconds(20))) BOOST_REQUIRE(dripping.send("a"));
  BOOST_TEST((std::chrono::steady_clock::now() - start < seconds(3)));
  BOOST_TEST(dripping.receive().status == 408);
  BOOST_TEST(stopped.receive().status == 408);
  BOOST_TEST(silent.closed_within(seconds(3)));
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(that_never_end_are_refused_when_they_are_too_large) {
  Besieged server;
  RawClient client(server.port());
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\n");
  std::size_t sent = 0;
  // The server reads on for a moment after its answer, so that the answer arrives.
  while (client.send("X: a\r\n") && !client.hears_within(milliseconds(0))) ++sent;
  BOOST_TEST(client.receive().status == 431);
  BOOST_TEST(sent < 1'000'000U);
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(of_HEAD_requests_are_answered_as_those_of_GET_without_a_body) {
  Besieged server;
  RawClient client(server.port());
  for (const char* path : {"/hello", "/nothing",
                           "/writ.reference.ReferenceService/Read?encoding="
                           "json&message=%7B%22number%22%3A5%7D"}) {
    const RawAnswer with_body = client.exchange(get(path, "X-Request-Id: 1\r\n"));
    client.send("HEAD " + std::string(path) +
                " HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: 1\r\n\r\n");
    const RawAnswer head = client.receive(true);
    BOOST_TEST(head.status == with_body.status, path);
    for (const auto& [name, value] : head.headers) {
      if (name != "Date") BOOST_TEST(with_body.header(name) == value, path << ": " << name);
    }
    BOOST_TEST(head.headers.size() == with_body.headers.size(), path);
    BOOST_TEST(head.header("Accept-Ranges") == "");
  }
  BOOST_TEST(client.exchange(get("/hello")).body == "hello\n");  // nothing was left over
  server.check_good_client();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ::test
