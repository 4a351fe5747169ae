#include <boost/test/unit_test.hpp>

#include <string>
#include <thread>

#include "service/gzip.h"
#include "tests/service/raw_client.h"
#include "tests/service/reference_service.h"

namespace writ::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr const char* kEcho = "/writ.reference.ReferenceService/Echo";

HttpServerOptions short_times() {
  HttpServerOptions options;
  options.head_time = milliseconds(300);
  options.request_time = milliseconds(300);
  options.write_time = milliseconds(300);
  options.idle_time = milliseconds(1000);
  return options;
}

HttpServerOptions few_connections(std::size_t count) {
  HttpServerOptions options;
  options.max_connections = count;
  return options;
}

bool idle_connections_become(HttpServer& server, std::size_t count) {
  const auto start = steady_clock::now();
  while (server.state().idle != count && steady_clock::now() - start < seconds(10)) {
    std::this_thread::yield();
  }
  return server.state().idle == count;
}

BOOST_AUTO_TEST_SUITE(http_limits)

BOOST_AUTO_TEST_CASE(a_hostile_head_is_refused_and_the_connection_closed) {
  ReferenceServer server;
  const std::pair<std::string, int> rows[] = {
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(40'000, 'a') + "\r\n\r\n", 431},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {std::string("\x16\x03\x01\x02\x00\x01\x00", 7), 400},
  };
  for (const auto& [request, status] : rows) {
    RawClient client(server.port());
    const RawAnswer answer = client.exchange(request);
    BOOST_TEST(answer.status == status, request.substr(0, 60));
    BOOST_TEST(answer.header("Connection") == "close");
    BOOST_TEST(answer.header("Content-Type") == "application/json");
    BOOST_TEST(client.closed_within(seconds(1)), request.substr(0, 60));
  }
}

BOOST_AUTO_TEST_CASE(headers_of_the_client_cannot_pose_as_the_connection) {
  HttpServerOptions options;
  std::string peer;
  options.log = [&](const RequestRecord& record) { peer = record.peer; };
  {
    ReferenceServer server(options);
    RawClient client(server.port());
    const RawAnswer answer =
        client.exchange(get("/hello", "REMOTE_ADDR: 9.9.9.9\r\nRange: bytes=0-1\r\n"));
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(answer.body == "hello\n");
  }
  BOOST_TEST(peer == "127.0.0.1");
}

BOOST_AUTO_TEST_CASE(a_body_over_the_limit_is_resource_exhausted_whatever_its_framing) {
  HttpServerOptions options;
  options.limits.body_bytes = 1000;
  RouterOptions router;
  router.max_message_bytes = 1000;
  ReferenceServer server(options, router);
  const std::string head =
      "POST " + std::string(kEcho) + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/proto\r\n";
  const std::string body(1001, '\0');
  const std::pair<const char*, std::string> rows[] = {
      {"length", head + "Content-Length: 1001\r\n\r\n" + body},
      {"length announced only", head + "Content-Length: 99999999999\r\n\r\n"},
      {"length with Expect", head + "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n"},
      {"chunked", head + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + body + "\r\n0\r\n\r\n"},
      {"gzip", post(kEcho, "application/proto", gzip(body), "Content-Encoding: gzip\r\n")},
  };
  for (const auto& [name, request] : rows) {
    RawClient client(server.port());
    const RawAnswer answer = client.exchange(request);
    BOOST_TEST(answer.status == 429, name);
    BOOST_TEST(
        answer.body ==
            R"({"code":"resource_exhausted","message":"the message is larger than the limit of 1000 bytes"})",
        name);
  }
}

BOOST_AUTO_TEST_CASE(a_client_still_sending_a_too_large_body_can_read_the_answer) {
  ReferenceServer server;
  RawClient client(server.port());
  BOOST_TEST(client.send(post(kEcho, "application/proto", std::string(12'000'000, 'x'))));
  BOOST_TEST(client.receive().status == 429);
}

BOOST_AUTO_TEST_CASE(a_body_at_the_limit_is_taken) {
  ReferenceServer server;
  RawClient client(server.port());
  const std::string text(4 * 1024 * 1024 - 5, 'x');
  std::string body = "\x0a";
  for (std::size_t size = text.size(); size > 0; size >>= 7) {
    body.push_back(static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0)));
  }
  body += text;
  BOOST_TEST(body.size() == 4U * 1024 * 1024);
  const RawAnswer answer = client.exchange(post(kEcho, "application/proto", body));
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body.size() > text.size());
}

BOOST_AUTO_TEST_CASE(slow_clients_are_given_up_on) {
  ReferenceServer server(short_times());
  RawClient head(server.port());
  head.send("GET /hello HTT");
  RawClient body(server.port());
  body.send("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  RawClient chunk(server.port());
  chunk.send("POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab");
  RawClient silent(server.port());
  BOOST_TEST(head.receive().status == 408);
  BOOST_TEST(body.receive().status == 408);
  BOOST_TEST(chunk.receive().status == 408);
  BOOST_TEST(silent.closed_within(seconds(2)));
}

BOOST_AUTO_TEST_CASE(dripping_bytes_does_not_extend_the_deadline) {
  ReferenceServer server(short_times());
  RawClient client(server.port());
  const auto start = steady_clock::now();
  client.send("GET /hello HTTP/1.1\r\nX: ");
  while (steady_clock::now() - start < milliseconds(290)) {
    client.send("a");
    std::this_thread::sleep_for(milliseconds(20));
  }
  BOOST_TEST(client.receive().status == 408);
  BOOST_TEST((steady_clock::now() - start < seconds(2)));
}

BOOST_AUTO_TEST_CASE(a_client_that_does_not_read_is_given_up_on) {
  ReferenceServer server(short_times());
  RawClient client(server.port());
  client.send(post(kEcho, "application/json", R"({"answerBytes":60000000})"));
  const auto start = steady_clock::now();
  while (server.server().state().connections > 0 && steady_clock::now() - start < seconds(20)) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  BOOST_TEST(server.server().state().connections == 0U);
}

BOOST_AUTO_TEST_CASE(an_idle_connection_gives_way_to_a_new_one) {
  ReferenceServer full(few_connections(3));
  RawClient oldest(full.port());
  oldest.exchange(get("/hello"));
  BOOST_TEST(idle_connections_become(full.server(), 1));
  RawClient second(full.port());
  second.exchange(get("/hello"));
  BOOST_TEST(idle_connections_become(full.server(), 2));
  RawClient third(full.port());
  third.exchange(get("/hello"));
  BOOST_TEST(idle_connections_become(full.server(), 3));
  RawClient fourth(full.port());
  BOOST_TEST(fourth.exchange(get("/hello")).status == 200);
  BOOST_TEST(oldest.closed_within(seconds(1)));
  BOOST_TEST(second.exchange(get("/hello")).status == 200);
  BOOST_TEST(third.exchange(get("/hello")).status == 200);
  BOOST_TEST(full.server().state().evicted == 1U);
}

BOOST_AUTO_TEST_CASE(when_all_connections_are_busy_a_new_one_is_told_to_come_back) {
  ReferenceServer server(few_connections(2));
  RawClient first(server.port());
  RawClient second(server.port());
  const std::string slow = post(kEcho, "application/json", R"({"waitMs":700})");
  first.send(slow);
  second.send(slow);
  std::this_thread::sleep_for(milliseconds(200));
  RawClient third(server.port());
  const RawAnswer answer = third.exchange(get("/hello"));
  BOOST_TEST(answer.status == 503);
  BOOST_TEST(answer.header("Retry-After") == "1");
  BOOST_TEST(answer.body == R"({"code":"unavailable","message":"all connections are busy"})");
  BOOST_TEST(first.receive().status == 200);
  BOOST_TEST(second.receive().status == 200);
  RawClient fourth(server.port());
  BOOST_TEST(fourth.exchange(get("/hello")).status == 200);
}

BOOST_AUTO_TEST_CASE(many_connections_come_and_go) {
  ReferenceServer server(few_connections(50));
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 50; ++i) clients.push_back(std::make_unique<RawClient>(server.port()));
    for (auto& client : clients) BOOST_REQUIRE(client->exchange(get("/hello")).status == 200);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ::test
