#include "service/http_server.h"

#include <boost/test/unit_test.hpp>

#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "tests/service/raw_client.h"
#include "tests/service/reference_service.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The one connection has said what it wants, in one piece.
bool becomes_busy(HttpServer& server) {
  return wait_until([&] {
    const HttpServerState state = server.state();
    return state.connections == 1 && state.idle == 0;
  });
}

BOOST_AUTO_TEST_SUITE(http_server)

BOOST_AUTO_TEST_CASE(a_plain_route_answers_GET_and_HEAD) {
  ReferenceServer server;
  RawClient client(server.port());
  RawAnswer answer = client.exchange(get("/hello?x=1"));
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body == "hello\n");
  BOOST_TEST(answer.header("Content-Type") == "text/plain; charset=utf-8");
  client.send("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  answer = client.receive(true);
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("Content-Length") == "6");
  answer = client.exchange(get("/%68ello"));
  BOOST_TEST(answer.status == 200);
  answer = client.exchange(post("/hello", "application/json", "{}"));
  BOOST_TEST(answer.status == 405);
  BOOST_TEST(answer.header("Allow") == "GET, HEAD, OPTIONS");
}

BOOST_AUTO_TEST_CASE(an_unknown_path_is_404) {
  ReferenceServer server;
  RawClient client(server.port());
  for (const char* path : {"/", "/hell", "/hello/", "/hello%2F", "/a%2Fb", "//hello"}) {
    const RawAnswer answer = client.exchange(get(path));
    BOOST_TEST(answer.status == 404, path);
    BOOST_TEST(answer.body == "there is nothing at this path\n");
  }
  BOOST_TEST(client.exchange(get("/%zz")).status == 400);
}

BOOST_AUTO_TEST_CASE(a_request_may_arrive_byte_by_byte) {
  ReferenceServer server;
  RawClient client(server.port());
  for (const char c : post(kEcho, "application/proto", "\x0a\x02hi")) {
    client.send(std::string(1, c));
    std::this_thread::yield();  // so that they may come one by one
  }
  const RawAnswer answer = client.receive();
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body.substr(0, 4) == "\x0a\x02hi");
}

BOOST_AUTO_TEST_CASE(every_answer_has_a_request_id) {
  ReferenceServer server;
  RawClient client(server.port());
  BOOST_TEST(client.exchange(get("/hello", "X-Request-Id: my id 1\r\n")).header("X-Request-Id") ==
             "my id 1");
  const std::string made = client.exchange(get("/hello")).header("X-Request-Id");
  BOOST_TEST(made.size() == 32U);
  BOOST_TEST(client.exchange(get("/hello")).header("X-Request-Id") != made);
  const std::string long_id(129, 'a');
  BOOST_TEST(client.exchange(get("/hello", "X-Request-Id: " + long_id + "\r\n"))
                 .header("X-Request-Id")
                 .size() == 32U);
  BOOST_TEST(client.exchange(get("/nothing")).header("X-Request-Id").size() == 32U);
  BOOST_TEST(client.exchange("nonsense\r\n\r\n").header("X-Request-Id").size() == 32U);
}

BOOST_AUTO_TEST_CASE(every_answer_has_a_date) {
  ReferenceServer server;
  RawClient client(server.port());
  const std::string date = client.exchange(get("/hello")).header("Date");
  BOOST_TEST(date.size() == std::string("Sun, 06 Nov 1994 08:49:37 GMT").size());
  BOOST_TEST(date.ends_with(" GMT"));
  BOOST_TEST(client.exchange("nonsense\r\n\r\n").header("Date").ends_with(" GMT"));
}

BOOST_AUTO_TEST_CASE(an_exception_reaches_the_log_and_not_the_client) {
  HttpServerOptions options;
  std::mutex mutex;
  std::string told;
  RouterOptions router;
  router.log_failure = [&](std::string_view id, std::string_view what) {
    const std::lock_guard lock(mutex);
    told = std::string(id) + ": " + std::string(what);
  };
  ReferenceServer server(options, router);
  RawClient client(server.port());
  const RawAnswer answer = client.exchange(get("/broken", "X-Request-Id: r1\r\n"));
  BOOST_TEST(answer.status == 500);
  BOOST_TEST(answer.body == R"({"code":"internal","message":"internal error, request id r1"})");
  const std::lock_guard lock(mutex);
  BOOST_TEST(told == "r1: the secret of /var/lib");
}

BOOST_AUTO_TEST_CASE(each_request_is_one_record_in_the_log) {
  HttpServerOptions options;
  std::mutex mutex;
  std::vector<RequestRecord> records;
  options.log = [&](const RequestRecord& record) {
    const std::lock_guard lock(mutex);
    records.push_back(record);
  };
  RouterOptions router;
  router.identify = [](const HttpRequest& request) {
    return Caller{std::string(request.head.field("X-User")), Role::kViewer, {}};
  };
  {
    ReferenceServer server(options, router);
    RawClient client(server.port());
    client.exchange(
        post(kEcho, "application/proto", "\x0a\x02hi", "X-User: ci\r\nX-Request-Id: r1\r\n"));
    client.exchange(get("/hello?token=secret"));
    client.exchange("nonsense\r\n\r\n");
  }
  BOOST_REQUIRE(records.size() == 3U);
  BOOST_TEST(records[0].method == "POST");
  BOOST_TEST(records[0].route == kEcho);
  BOOST_TEST(records[0].code == "ok");
  BOOST_TEST(records[0].key == "echo:hi");
  BOOST_TEST(records[0].actor == "ci");
  BOOST_TEST(records[0].request_id == "r1");
  BOOST_TEST(records[0].peer == "127.0.0.1");
  BOOST_TEST(records[0].status == 200);
  BOOST_TEST(records[0].request_bytes == 4U);
  BOOST_TEST(records[0].response_bytes > 100U);
  BOOST_TEST(records[1].route == "/hello");
  BOOST_TEST(records[1].code == "ok");
  BOOST_TEST(records[2].method == "-");
  BOOST_TEST(records[2].route == "-");
  BOOST_TEST(records[2].status == 400);
}

BOOST_AUTO_TEST_CASE(an_idle_server_stops_at_once) {
  ReferenceServer server;
  RawClient fresh(server.port());
  RawClient used(server.port());
  used.exchange(get("/hello"));
  RawClient half(server.port());
  half.send("GET /hel");
  const auto start = steady_clock::now();
  server.server().stop(seconds(30));
  BOOST_TEST((steady_clock::now() - start < seconds(5)));
  BOOST_TEST(fresh.closed_within(seconds(5)));
  BOOST_TEST(used.closed_within(seconds(5)));
  BOOST_CHECK_THROW(RawClient late(server.port()), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_request_in_flight_is_finished_before_the_server_stops) {
  ReferenceServer server;
  RawClient client(server.port());
  client.send(post(kEcho, "application/json", R"({"text":"slow","waitMs":400})"));
  BOOST_TEST(becomes_busy(server.server()));
  auto stopped = std::async(std::launch::async, [&] { server.server().stop(seconds(10)); });
  const RawAnswer answer = client.receive();
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("Connection") == "close");
  BOOST_TEST((stopped.wait_for(seconds(2)) == std::future_status::ready));
}

BOOST_AUTO_TEST_CASE(a_request_that_outlives_the_grace_is_cut_off) {
  ReferenceServer server;
  RawClient client(server.port());
  client.send("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  BOOST_TEST(becomes_busy(server.server()));
  const auto start = steady_clock::now();
  server.server().stop(milliseconds(200));
  BOOST_TEST((steady_clock::now() - start < seconds(5)));
  BOOST_TEST(client.closed_within(seconds(5)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ::test
