#include "service/http_head.h"

#include <boost/test/unit_test.hpp>

#include <string>

namespace writ {
namespace {

// Scans a head as if it came byte by byte, then parses it. Status 0: it was taken; -1: more bytes
// were wanted.
int status_of(const std::string& bytes, RequestHead* head, const HttpLimits& limits = {}) {
  HeadScanner scanner(limits);
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    const auto result = scanner.scan(std::string_view(bytes).substr(0, size));
    if (result.refusal) return result.refusal->status;
    if (result.size == 0) continue;
    const auto refusal =
        parse_request_head(std::string_view(bytes).substr(0, result.size), limits, head);
    return refusal ? refusal->status : 0;
  }
  return -1;
}

struct Row {
  const char* name;
  std::string bytes;
  int status;
};

std::string with_fields(const std::string& fields) {
  return "GET / HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}

std::string head_of(std::size_t size) {
  return with_fields("X: " + std::string(size - with_fields("X: \r\n").size(), 'a') + "\r\n");
}

std::string many_fields(int count) {
  std::string fields;
  for (int i = 0; i < count; ++i) fields += "X-" + std::to_string(i) + ": 1\r\n";
  return fields;
}

const Row kRows[] = {
    {"plain", with_fields(""), 0},
    {"tab and UTF-8 in a value", with_fields("Writ-Reason: a\tb \xc3\xa4\r\n"), 0},
    {"empty value", with_fields("X:\r\n"), 0},
    {"absolute target", "GET http://localhost/a HTTP/1.1\r\nHost: localhost\r\n\r\n", 0},
    {"absolute target of another host", "GET http://evil/a HTTP/1.1\r\nHost: localhost\r\n\r\n",
     400},
    {"asterisk for OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 0},
    {"asterisk for GET", "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"authority target", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 400},
    {"HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", 0},
    {"HTTP/1.1 without Host", "GET / HTTP/1.1\r\n\r\n", 400},
    {"two Hosts", with_fields("host: localhost\r\n"), 400},
    {"Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
    {"Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
    {"bare LF after the request line", "GET / HTTP/1.1\nHost: localhost\n\n", 400},
    {"bare LF inside the head", "GET / HTTP/1.1\r\nHost: localhost\nX: 1\r\n\r\n", 400},
    {"bare CR inside a value", with_fields("X: a\rb\r\n"), 400},
    {"NUL inside a value", with_fields(std::string("X: a\0b\r\n", 8)), 400},
    {"escape inside a value", with_fields("X: a\x1b[0m\r\n"), 400},
    {"DEL inside a value", with_fields("X: a\x7f\r\n"), 400},
    {"space before the colon", with_fields("X : 1\r\n"), 400},
    {"folded line", with_fields("X: 1\r\n 2\r\n"), 400},
    {"no colon", with_fields("nonsense\r\n"), 400},
    {"no name", with_fields(": 1\r\n"), 400},
    {"brackets in a name", with_fields("X[1]: 1\r\n"), 400},
    {"leading space", " GET / HTTP/1.1\r\n\r\n", 400},
    {"two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"tab in the request line", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"fragment in the target", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"raw UTF-8 in the target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"no version", "GET /\r\nHost: a\r\n\r\n", 400},
    {"lower-case version", "GET / http/1.1\r\nHost: a\r\n\r\n", 400},
    {"version 1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400},
    {"version 2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    {"TLS", std::string("\x16\x03\x01\x02", 4), 400},
    {"odd method", "PATCH!~ / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
    {"method with a parenthesis", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"long method", std::string(33, 'G') + " / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"length", with_fields("Content-Length: 12\r\n"), 0},
    {"length with a sign", with_fields("Content-Length: +12\r\n"), 400},
    {"negative length", with_fields("Content-Length: -1\r\n"), 400},
    {"hexadecimal length", with_fields("Content-Length: 0x10\r\n"), 400},
    {"empty length", with_fields("Content-Length:\r\n"), 400},
    {"list of lengths", with_fields("Content-Length: 3, 3\r\n"), 400},
    {"two equal lengths", with_fields("Content-Length: 3\r\nContent-Length: 3\r\n"), 400},
    {"length of 19 digits", with_fields("Content-Length: 1000000000000000000\r\n"), 400},
    {"chunked", with_fields("Transfer-Encoding: Chunked\r\n"), 0},
    {"both framings", with_fields("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), 400},
    {"gzip coding", with_fields("Transfer-Encoding: gzip, chunked\r\n"), 501},
    {"chunked twice", with_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
     400},
    {"obfuscated chunked", with_fields("Transfer-Encoding: xchunked\r\n"), 501},
    {"chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"two content types", with_fields("Content-Type: a/b\r\nContent-Type: a/b\r\n"), 400},
    {"two authorizations", with_fields("Authorization: a\r\nAuthorization: b\r\n"), 400},
    {"expects to continue", with_fields("Expect: 100-Continue\r\n"), 0},
    {"expects something else", with_fields("Expect: tea\r\n"), 417},
    {"99 more fields", with_fields(many_fields(99)), 0},
    {"100 more fields", with_fields(many_fields(100)), 431},
    {"long request line",
     "GET /" + std::string(8 * 1024 - 14, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 0},
    {"too long request line", "GET /" + std::string(8 * 1024 - 13, 'a') + " HTTP/1.1\r\n", 414},
    {"request line without end", std::string(8 * 1024 + 2, 'a'), 414},
    {"large field", with_fields("X: " + std::string(31 * 1024, 'a') + "\r\n"), 0},
    {"too large field", with_fields("X: " + std::string(32 * 1024, 'a') + "\r\n"), 431},
    {"head of 32 KiB", head_of(32 * 1024), 0},
    {"head of 32 KiB and a byte", head_of(32 * 1024 + 1), 431},
    {"unfinished", "GET / HTTP/1.1\r\nHost: a\r\n", -1},
};

BOOST_AUTO_TEST_SUITE(http_head)

BOOST_AUTO_TEST_CASE(a_head_is_taken_or_refused_with_the_right_status) {
  for (const Row& row : kRows) {
    RequestHead head;
    BOOST_TEST(status_of(row.bytes, &head) == row.status, row.name);
  }
}

BOOST_AUTO_TEST_CASE(the_parts_of_a_head_are_found) {
  RequestHead head;
  const std::string bytes =
      "POST /a/b?c=d?e HTTP/1.1\r\nhost: [::1]:80\r\nX-One:  1 \t\r\ncontent-length: 5\r\nx-one: "
      "2\r\n\r\nhello";
  BOOST_TEST(status_of(bytes, &head) == 0);
  BOOST_TEST(head.method == "POST");
  BOOST_TEST(head.path == "/a/b");
  BOOST_TEST(head.query == "c=d?e");
  BOOST_TEST(head.host == "[::1]:80");
  BOOST_TEST(head.field("X-ONE") == "1");
  BOOST_TEST(!head.find("x-two").has_value());
  BOOST_TEST(head.content_length.value() == 5U);
  BOOST_TEST(head.keep_alive);
  BOOST_TEST(!head.chunked);
}

BOOST_AUTO_TEST_CASE(a_connection_is_kept_unless_somebody_says_otherwise) {
  const std::pair<const char*, bool> rows[] = {
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false},
      {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n", false},
      {"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", true},
      {"GET / HTTP/1.0\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
  };
  for (const auto& [bytes, kept] : rows) {
    RequestHead head;
    BOOST_TEST(status_of(bytes, &head) == 0, bytes);
    BOOST_TEST(head.keep_alive == kept, bytes);
  }
}

BOOST_AUTO_TEST_CASE(a_path_is_decoded_once_and_by_segment) {
  using Segments = std::vector<std::string>;
  const std::pair<const char*, std::optional<Segments>> rows[] = {
      {"/", Segments{""}},
      {"/a/b", Segments{"a", "b"}},
      {"/a//b/", Segments{"a", "", "b", ""}},
      {"/a%2Fb/%25", Segments{"a/b", "%"}},
      {"/%2541", Segments{"%41"}},
      {"/a+b", Segments{"a+b"}},
      {"/%c3%a4", Segments{"\xc3\xa4"}},
      {"/%0d%0a", std::nullopt},
      {"/%00", std::nullopt},
      {"/%", std::nullopt},
      {"/%4", std::nullopt},
      {"/%zz", std::nullopt},
      {"*", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [path, segments] : rows) {
    BOOST_TEST((decode_path(path) == segments), path);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
