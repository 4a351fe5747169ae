#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <thread>

#include "service/gzip.h"
#include "tests/service/raw_client.h"
#include "tests/service/reference_service.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

HttpServerOptions few_connections(std::size_t count) {
  HttpServerOptions options;
  options.max_connections = count;
  return options;
}

bool idle_connections_become(HttpServer& server, std::size_t count) {
  return wait_until([&] { return server.state().idle == count; });
}

bool all_are_busy(HttpServer& server, std::size_t count) {
  return wait_until([&] {
    const HttpServerState state = server.state();
    return state.connections == count && state.idle == 0;
  });
}

BOOST_AUTO_TEST_SUITE(http_limits)

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
  BOOST_TEST(oldest.closed_within(seconds(5)));
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
  BOOST_TEST(all_are_busy(server.server(), 2));
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

// Whoever has kept the server waiting for longest gives way first; who takes no answer, last.
BOOST_AUTO_TEST_CASE(late_requests_give_way_and_then_late_readers) {
  HttpServerOptions options = few_connections(3);
  options.late_time = milliseconds(700);
  ReferenceServer full(options);
  RawClient reader(full.port(), 4096);
  reader.send(post(kEcho, "application/json", R"({"answerBytes":2000000})"));
  BOOST_TEST(all_are_busy(full.server(), 1));
  RawClient body(full.port());
  body.send("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf");
  BOOST_TEST(all_are_busy(full.server(), 2));
  RawClient head(full.port());
  head.send("POST /hello HT");
  BOOST_TEST(all_are_busy(full.server(), 3));
  const auto all_late = steady_clock::now() + options.late_time;
  BOOST_TEST(RawClient(full.port()).exchange(get("/hello")).status == 503, "nobody is late yet");
  std::this_thread::sleep_until(all_late);

  const auto comes_in = [&](std::uint64_t evicted) {
    auto client = std::make_unique<RawClient>(full.port());
    BOOST_TEST(wait_until([&] {
      if (client->exchange(post(kEcho, "application/json", R"({"waitMs":1})")).status == 200)
        return true;
      client = std::make_unique<RawClient>(full.port());
      return false;
    }));
    BOOST_TEST(full.server().state().evicted == evicted);
    client->send("POST /hello HT");  // and is in the way itself, but not late
    return client;
  };
  const auto first = comes_in(1);
  BOOST_TEST(body.closed_within(seconds(5)));
  const auto second = comes_in(2);
  BOOST_TEST(head.closed_within(seconds(5)));
  BOOST_TEST(reader.receive().status == 200, "it was not cut off");
}

BOOST_AUTO_TEST_CASE(a_slow_but_steady_body_does_not_give_way) {
  HttpServerOptions options = few_connections(1);
  options.late_time = milliseconds(500);
  ReferenceServer full(options);
  RawClient steady(full.port());
  const std::string piece(20'000, '\0');  // ten times a second that is three times the slowest pace
  steady.send("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n");
  BOOST_TEST(all_are_busy(full.server(), 1));
  for (int i = 0; i < 20; ++i) {
    BOOST_TEST(!steady.hears_within(milliseconds(100)));
    BOOST_TEST(RawClient(full.port()).exchange(get("/hello")).status == 503);
    steady.send(piece);
  }
  BOOST_TEST(steady.receive().status == 405);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ::test
