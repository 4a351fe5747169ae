#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

#include "reference.pb.h"
#include "schema/base64.h"
#include "service/envelope.h"
#include "service/gzip.h"
#include "tests/service/hostile.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kLimit = 4 * 1024 * 1024;
constexpr const char* kTooLarge =
    R"({"code":"resource_exhausted","message":"the message is larger than the limit of 4194304 bytes"})";
constexpr const char* kNoMemory =
    R"({"code":"resource_exhausted","message":"the server has no memory left for a request of this size; try again soon"})";

std::string head(const std::string& fields, const std::string& type = "application/proto") {
  return "POST " + std::string(kEcho) + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + type +
         "\r\nConnection: close\r\n" + fields + "\r\n";
}

std::string chunked(const std::string& body) {
  return head("Transfer-Encoding: chunked\r\n") + body;
}

// A quarter of a gibibyte of zeros in a few hundred kilobytes, a part of it again and again: gzip
// members make one text.
const std::string& gzip_bomb() {
  static const std::string bomb = [] {
    const std::string member = gzip(std::string(16 * 1024 * 1024, '\0'), 6);
    std::string out;
    for (int i = 0; i < 16; ++i) out += member;
    return out;
  }();
  return bomb;
}

std::string enveloped(std::string_view data, std::uint8_t flags) {
  std::string out;
  append_envelope(flags, data, &out);
  return out;
}

BOOST_AUTO_TEST_SUITE(hostile_bodies)

BOOST_AUTO_TEST_CASE(over_the_limit_are_refused_whatever_their_framing) {
  Besieged server;
  const std::string body(kLimit + 1, '\0');
  const std::pair<const char*, std::string> rows[] = {
      {"length", head("Content-Length: " + std::to_string(body.size()) + "\r\n") + body},
      {"1 GB announced", head("Content-Length: 1000000000\r\n")},
      {"18 digits announced", head("Content-Length: 999999999999999999\r\n")},
      {"1 GB for which leave is asked",
       head("Content-Length: 1000000000\r\nExpect: 100-continue\r\n")},
      {"one chunk", chunked("400001\r\n" + body + "\r\n0\r\n\r\n")},
      {"a chunk of 4 GB announced", chunked("ffffffff\r\n")},
      {"gzip bomb", head("Content-Encoding: gzip\r\nContent-Length: " +
                         std::to_string(gzip_bomb().size()) + "\r\n") +
                        gzip_bomb()},
  };
  for (const auto& [name, request] : rows) {
    RawClient client(server.port());
    client.send(request);
    const std::string first = client.receive_bytes(12);
    BOOST_TEST(first == "HTTP/1.1 429", name);
    BOOST_TEST(client.receive_bytes(1000).ends_with(kTooLarge), name);
  }
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(of_chunks_past_the_limit_are_refused_before_they_end) {
  Besieged server;
  RawClient client(server.port());
  client.send(head("Transfer-Encoding: chunked\r\n"));
  const std::string chunk = "10000\r\n" + std::string(0x10000, '\0') + "\r\n";
  std::size_t chunks = 0;
  while (chunks < 1'000 && !client.hears_within(milliseconds(0)) && client.send(chunk)) ++chunks;
  BOOST_TEST(chunks < 1'000U);
  const RawAnswer answer = client.receive();
  BOOST_TEST(answer.status == 429);
  BOOST_TEST(answer.body == kTooLarge);
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(over_the_limit_may_be_sent_to_their_end_and_the_answer_is_read) {
  Besieged server;
  RawClient client(server.port());
  BOOST_TEST(client.send(post(kEcho, "application/proto", std::string(3 * kLimit, 'x'))));
  BOOST_TEST(client.receive().status == 429);
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(that_inflate_without_end_are_refused_in_each_protocol) {
  Besieged server;
  const std::string message = enveloped(gzip_bomb(), kCompressedFlag);
  const struct {
    const char* type;
    const char* encoding;
    std::string body;
  } rows[] = {
      {"application/connect+proto", "Connect-Content-Encoding", message},
      {"application/connect+json", "Connect-Content-Encoding", message},
      {"application/grpc-web+proto", "Grpc-Encoding", message},
      {"application/grpc-web-text", "Grpc-Encoding", encode_base64(message)},
  };
  for (const auto& row : rows) {
    RawClient client(server.port());
    const RawAnswer answer =
        client.exchange(post(kCount, row.type, row.body, std::string(row.encoding) + ": gzip\r\n"));
    BOOST_TEST(answer.status == 200, row.type);
    const std::string text = row.type == std::string("application/grpc-web-text")
                                 ? decode_base64(answer.body).value_or("")
                                 : answer.body;
    BOOST_TEST(text.find("larger than the limit of 4194304 bytes") != std::string::npos, text);
    const bool connect = std::string(row.type).find("connect") != std::string::npos;
    BOOST_TEST(text.find(connect ? "resource_exhausted" : "grpc-status: 8") != std::string::npos,
               text);
  }
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(in_malformed_chunks_are_refused) {
  Besieged server;
  const std::pair<const char*, std::string> rows[] = {
      {"no size", "\r\nabc\r\n0\r\n\r\n"},
      {"a negative size", "-1\r\nabc\r\n0\r\n\r\n"},
      {"a size with a sign", "+3\r\nabc\r\n0\r\n\r\n"},
      {"a size with a prefix", "0x3\r\nabc\r\n0\r\n\r\n"},
      {"a size with a space", "3 \r\nabc\r\n0\r\n\r\n"},
      {"a size beyond 64 bits", "10000000000000003\r\nabc\r\n0\r\n\r\n"},
      {"a size with leading zeros", "0000000003\r\nabc\r\n0\r\n\r\n"},
      {"bare LFs", "3\nabc\n0\n\n"},
      {"more than its size", "3\r\nabcd\r\n0\r\n\r\n"},
      {"a long extension", "3;" + std::string(10'000, 'x') + "\r\nabc\r\n0\r\n\r\n"},
      {"a control character in an extension", "3;a=\x01\r\nabc\r\n0\r\n\r\n"},
      {"a long trailer section", "0\r\nX: " + std::string(10'000, 'x') + "\r\n\r\n"},
      {"many trailer fields", "0\r\n" +
                                  [] {
                                    std::string fields;
                                    for (int i = 0; i < 10'000; ++i) fields += "X: y\r\n";
                                    return fields;
                                  }() +
                                  "\r\n"},
  };
  for (const auto& [name, body] : rows) {
    RawClient client(server.port());
    client.send(chunked(body) + get("/hello"));
    BOOST_TEST(client.receive().status == 400, name);
    client.shut_writing();
    BOOST_TEST(client.receive_bytes(1) == "", name);
  }
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(of_GET_requests_are_not_the_next_request) {
  Besieged server;
  RawClient client(server.port());
  const std::string inner = "GET /nothing HTTP/1.1\r\nHost: b\r\n\r\n";
  BOOST_REQUIRE(inner.size() == 0x22U);
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 34\r\n\r\n" + inner +
              "GET /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n22\r\n" + inner +
              "\r\n0\r\n\r\n" + get("/hello", "X-Request-Id: last\r\n"));
  BOOST_TEST(client.receive().status == 200);
  BOOST_TEST(client.receive().status == 200);
  const RawAnswer last = client.receive();
  BOOST_TEST(last.status == 200);
  BOOST_TEST(last.header("X-Request-Id") == "last");
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(that_come_slowly_are_given_up_on_however_they_drip) {
  HttpServerOptions options;
  options.request_time = milliseconds(500);
  Besieged server(options);
  const std::string sized = "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n";
  const std::string in_chunks =
      "POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n";
  RawClient stopped(server.port());
  RawClient stopped_in_chunk(server.port());
  stopped.send(sized + "abc");
  stopped_in_chunk.send(in_chunks + "abc");
  for (const std::string& begin : {sized, in_chunks}) {
    RawClient dripping(server.port());
    dripping.send(begin);
    const auto start = steady_clock::now();
    while (!dripping.hears_within(milliseconds(20))) BOOST_REQUIRE(dripping.send("a"));
    BOOST_TEST((steady_clock::now() - start < seconds(3)));
    BOOST_TEST(dripping.receive().status == 408);
  }
  BOOST_TEST(stopped.receive().status == 408);
  BOOST_TEST(stopped_in_chunk.receive().status == 408);
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(that_fill_the_memory_are_refused_and_small_ones_are_not) {
  constexpr std::size_t kLargest = 1024 * 1024;
  HttpServerOptions options;
  options.limits.body_bytes = kLargest;
  options.body_memory = 1;  // which is raised to eight of the largest
  options.late_time = milliseconds(300);
  RouterOptions router;
  router.max_message_bytes = kLargest;
  Besieged server(options, router);
  const std::string whole = "\x0a\xfc\xff\x3f" + std::string(kLargest - 4, 'x');
  const std::string announced =
      head("Content-Length: " + std::to_string(kLargest) + "\r\n").append(whole, 0, 900'000);
  const std::string in_chunks = chunked("100000\r\n").append(whole, 0, 900'000);
  std::vector<std::unique_ptr<RawClient>> hostile;
  for (int i = 0; i < 10; ++i) {
    hostile.push_back(std::make_unique<RawClient>(server.port()));
    hostile.back()->send(i % 2 == 0 ? announced : in_chunks);
  }
  int refused = 0;
  const auto count_refusals = [&] {
    for (auto& client : hostile) {
      if (!client || !client->hears_within(milliseconds(0))) continue;
      const RawAnswer answer = client->receive();
      client.reset();
      if (answer.status == 0) continue;  // gave way
      ++refused;
      BOOST_TEST(answer.status == 429);
      BOOST_TEST(answer.header("Retry-After") == "1");
      BOOST_TEST(answer.body == kNoMemory);
    }
    return refused;
  };
  BOOST_TEST(wait_until([&] { return count_refusals() >= 4; }));
  BOOST_TEST(server.server().state().body_memory <= 4 * kLargest);
  BOOST_TEST(server.server().state().body_memory > kLargest);
  // The others are late after a while, and then give way to those that come whole.
  BOOST_TEST(wait_until([&] {
    RawClient client(server.port());
    return client.exchange(post(kEcho, "application/proto", whole)).status == 200;
  }));
  server.check_good_client();
  hostile.clear();
  BOOST_TEST(wait_until([&] { return server.server().state().body_memory == 0; }));
}

BOOST_AUTO_TEST_CASE(are_asked_for_when_the_client_waits_for_that) {
  Besieged server;
  RawClient client(server.port());
  const std::string asking = head("Content-Length: 4\r\nExpect: 100-continue\r\n");
  client.send(asking);
  BOOST_TEST(client.receive_bytes(25) == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("\x0a\x02hi");
  BOOST_TEST(client.receive().status == 200);
  RawClient impatient(server.port());
  impatient.send(asking + "\x0a\x02hi");
  BOOST_TEST(impatient.receive_bytes(12) == "HTTP/1.1 200");
  server.check_good_client();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ::test
