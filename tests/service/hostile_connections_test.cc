#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

#include "reference.pb.h"
#include "service/file_limit.h"
#include "tests/service/hostile.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kPlaces = 1024;  // of a server with default options
// Whoever is late gives way after three seconds, when all places are taken.
constexpr milliseconds kFullHouse{6'000};
constexpr int kSmallBuffer = 4096;

using Crowd = std::vector<std::unique_ptr<RawClient>>;

// Both ends of each connection are in this process.
struct ManyFiles {
  ManyFiles() { BOOST_REQUIRE(fit_connections(2 * kPlaces, 500) == 2 * kPlaces); }
};

Crowd come(std::uint16_t port, std::size_t count, const std::string& say, int buffer = 0) {
  Crowd crowd;
  for (std::size_t i = 0; i < count; ++i) {
    crowd.push_back(std::make_unique<RawClient>(port, buffer));
    crowd.back()->send(say);
  }
  return crowd;
}

bool fills(HttpServer& server, std::size_t places) {
  return wait_until([&] { return server.state().connections >= places; });
}

// With nobody among them who could be sent away at once.
bool fills_busily(HttpServer& server, std::size_t places) {
  return wait_until([&] {
    const HttpServerState state = server.state();
    return state.connections >= places && state.idle == 0;
  });
}

bool empties(HttpServer& server) {
  return wait_until([&] { return server.state().connections == 0; });
}

constexpr std::size_t kFewPlaces = 32;
constexpr const char* kHalfHead = "POST / HTTP/1.1\r\nHost: a\r\n";
constexpr const char* kHalfBody =
    "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf";
constexpr const char* kHalfChunk =
    "POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf";

// Nobody becomes late, as if all came again before that.
HttpServerOptions few_places() {
  HttpServerOptions options;
  options.max_connections = kFewPlaces;
  options.late_time = seconds(60);
  return options;
}

// Tries until there is a place; far sooner than any deadline of a request.
bool gets_in(std::uint16_t port) {
  return wait_until([&] { return RawClient(port).exchange(get("/hello")).status == 200; },
                    seconds(5));
}

// Those who are there now have kept the server waiting for long enough to give way.
void outwait(const HttpServerOptions& options) {
  const auto until = steady_clock::now() + options.crowded_time;
  BOOST_TEST(wait_until([&] { return steady_clock::now() > until; }));
}

// More than there are places for, who never say all of what they want and come again and again,
// as often as the good client does; from its own address, as behind a proxy.
void never_starve_the_good_client(const std::string& say) {
  Besieged server(Besieged::kGoodComesLater, few_places());
  Crowd crowd = come(server.port(), kFewPlaces + 10, say);
  BOOST_TEST(fills_busily(server.server(), kFewPlaces));
  outwait(few_places());
  BOOST_REQUIRE(gets_in(server.port()));
  for (std::size_t i = 0; i < 2 * kFewPlaces; ++i) {
    crowd.push_back(std::move(come(server.port(), 1, say).front()));
    BOOST_REQUIRE(server.good().gets(8));
  }
  BOOST_TEST(server.server().state().evicted >= 2 * kFewPlaces);
  server.check_good_client_always_got_in();
}

// A request whose answer is more than the system takes off the server's hands.
std::string ask_for_much() {
  reference::EchoRequest request;
  request.set_answer_bytes(1'000'000);
  return post(kEcho, "application/proto", request.SerializeAsString());
}

BOOST_FIXTURE_TEST_SUITE(hostile_connections, ManyFiles)

BOOST_AUTO_TEST_CASE(a_thousand_that_stay_silent_stop_nobody) {
  Besieged server;
  const Crowd crowd = come(server.port(), 1'000, "");
  BOOST_TEST(fills(server.server(), 1'000));
  BOOST_TEST(server.good().gets(20));
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(more_silent_ones_than_there_are_places_give_way) {
  Besieged server;
  const Crowd crowd = come(server.port(), kPlaces + 100, "");
  BOOST_TEST(fills(server.server(), kPlaces));
  BOOST_TEST(server.good().gets(20));
  BOOST_TEST(server.server().state().evicted > 0U);
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(that_stop_within_their_heads_give_way) {
  Besieged server(Besieged::kGoodComesLater);
  const Crowd crowd = come(server.port(), kPlaces + 8, "POST /hello HTTP/1.1\r\nHost: loc");
  BOOST_TEST(fills_busily(server.server(), kPlaces));
  BOOST_TEST(server.good().gets(20));
  server.check_good_client(kFullHouse);
}

BOOST_AUTO_TEST_CASE(that_stop_within_their_bodies_give_way) {
  Besieged server(Besieged::kGoodComesLater);
  const Crowd crowd = come(server.port(), kPlaces + 8,
                           "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf");
  BOOST_TEST(fills_busily(server.server(), kPlaces));
  BOOST_TEST(server.good().gets(20));
  server.check_good_client(kFullHouse);
}

BOOST_AUTO_TEST_CASE(that_stop_within_a_chunk_give_way) {
  Besieged server(Besieged::kGoodComesLater);
  const Crowd crowd =
      come(server.port(), kPlaces + 8,
           "POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf");
  BOOST_TEST(fills_busily(server.server(), kPlaces));
  BOOST_TEST(server.good().gets(20));
  server.check_good_client(kFullHouse);
}

BOOST_AUTO_TEST_CASE(that_do_not_read_their_answers_give_way) {
  HttpServerOptions options;
  options.max_connections = 32;  // the answers are in memory
  Besieged server(Besieged::kGoodComesLater, options);
  const Crowd crowd = come(server.port(), 110, ask_for_much(), kSmallBuffer);
  BOOST_TEST(fills_busily(server.server(), 32));
  BOOST_TEST(server.good().gets(20));
  server.check_good_client(kFullHouse);
}

BOOST_AUTO_TEST_CASE(that_do_not_read_are_given_up_on) {
  HttpServerOptions options;
  options.write_time = milliseconds(300);
  Besieged server(options);
  {
    const Crowd crowd = come(server.port(), 20, ask_for_much(), kSmallBuffer);
    BOOST_TEST(fills(server.server(), 20));
    BOOST_TEST(wait_until([&] { return server.server().state().connections <= 2; }));
  }
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(a_hundred_requests_in_one_segment_are_answered_in_order) {
  Besieged server;
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    const std::string body = "{\"number\":" + std::to_string(i) + "}";
    const std::string id = "X-Request-Id: " + std::to_string(i) + "\r\n";
    if (i % 3 == 0) {
      requests += post(kEcho, "application/json", body, id);
    } else if (i % 3 == 1) {
      requests += get("/hello", id);
    } else {
      requests += "POST /hello HTTP/1.1\r\nHost: a\r\n" + id +
                  "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\r\n";
    }
  }
  RawClient client(server.port());
  client.send(requests);
  const int statuses[] = {200, 200, 405};
  for (int i = 0; i < 100; ++i) {
    const RawAnswer answer = client.receive();
    BOOST_TEST(answer.status == statuses[i % 3], i);
    BOOST_TEST(answer.header("X-Request-Id") == std::to_string(i));
  }
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(half_closed_ones_get_their_answers) {
  Besieged server;
  for (const std::string& request :
       {get("/hello"), post(kEcho, "application/json", R"({"waitMs":50})")}) {
    RawClient client(server.port());
    client.send(request);
    client.shut_writing();
    BOOST_TEST(client.receive().status == 200);
    BOOST_TEST(client.closed_within(seconds(3)));
  }
  RawClient half(server.port());
  half.send("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf");
  half.shut_writing();
  BOOST_TEST(half.closed_within(seconds(3)));
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(that_leave_in_the_middle_of_an_answer_are_forgotten) {
  ReferenceServer alone;  // without a good client to be counted
  Besieged server;
  for (const std::uint16_t port : {alone.port(), server.port()}) {
    for (int i = 0; i < 50; ++i) {
      RawClient client(port, kSmallBuffer);
      client.send(ask_for_much());
      BOOST_TEST(client.receive_bytes(12) == "HTTP/1.1 200");
    }
  }
  BOOST_TEST(empties(alone.server()));
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(thousands_that_come_and_go_leave_nothing_behind) {
  const std::string sayings[] = {
      "", "GET /he", get("/hello"), "nonsense\r\n\r\n",
      "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf"};
  ReferenceServer alone;
  Besieged server;
  for (int round = 0; round < 600; ++round) {
    for (const std::string& say : sayings) {
      RawClient(alone.port()).send(say);
      RawClient(server.port()).send(say);
    }
  }
  BOOST_TEST(wait_until([&] { return alone.server().state().accepted >= 3'000; }));
  BOOST_TEST(empties(alone.server()));
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(that_come_again_and_again_are_all_served) {
  HttpServerOptions options;
  // Fewer than come in all, and room for those that have gone without the server knowing it yet.
  options.max_connections = 160;
  Besieged server(options);
  for (int round = 0; round < 20; ++round) {
    const Crowd crowd = come(server.port(), 50, get("/hello"));
    for (const auto& client : crowd) BOOST_REQUIRE(client->receive().status == 200);
  }
  server.check_good_client();
}

BOOST_AUTO_TEST_CASE(whose_heads_never_end_starve_nobody) {
  never_starve_the_good_client(kHalfHead);
}

BOOST_AUTO_TEST_CASE(whose_bodies_never_end_starve_nobody) {
  never_starve_the_good_client(kHalfBody);
}

BOOST_AUTO_TEST_CASE(whose_chunks_never_end_starve_nobody) {
  never_starve_the_good_client(kHalfChunk);
}

BOOST_AUTO_TEST_CASE(that_hold_most_places_give_way_before_a_slow_one_from_elsewhere) {
  ReferenceServer server(few_places());
  RawClient slow(server.port(), 0, "127.0.0.2");  // and has waited for longer than all of them
  slow.send("GET /hello HTTP/1.1\r\nHost: a\r\n");
  BOOST_TEST(fills_busily(server.server(), 1));
  const Crowd busy =
      come(server.port(), 4, post(kEcho, "application/json", R"({"text":"busy","waitMs":1500})"));
  const Crowd crowd = come(server.port(), kFewPlaces - 5, kHalfHead);
  BOOST_TEST(fills_busily(server.server(), kFewPlaces));
  outwait(few_places());
  Crowd more;
  const auto makes_way = [&] {
    more.push_back(std::move(come(server.port(), 1, kHalfHead).front()));
    return server.server().state().evicted >= kFewPlaces / 2;
  };
  BOOST_REQUIRE(wait_until(makes_way, seconds(5)));
  for (const auto& client : busy) BOOST_TEST(client->receive().status == 200);
  BOOST_TEST(slow.exchange("\r\n").status == 200);
}

BOOST_AUTO_TEST_CASE(that_have_only_begun_to_speak_are_heard) {
  HttpServerOptions options = few_places();
  options.max_connections = 3;
  options.crowded_time = seconds(30);
  ReferenceServer server(options);
  RawClient first(server.port());
  first.send("GET /hello HTTP/1.1\r\nHost: a\r\n");
  const Crowd others = come(server.port(), 2, kHalfBody);
  BOOST_TEST(fills_busily(server.server(), 3));
  BOOST_TEST(RawClient(server.port()).exchange(get("/hello")).status == 503);
  BOOST_TEST(first.exchange("\r\n").status == 200);
}

// The silent one has only just come: what it wants may be on its way.
BOOST_AUTO_TEST_CASE(that_speak_slowly_give_way_before_one_that_has_just_come) {
  HttpServerOptions options = few_places();
  options.max_connections = 3;
  options.crowded_time = seconds(1);
  ReferenceServer server(options);
  const Crowd crowd = come(server.port(), 2, kHalfHead);
  BOOST_TEST(fills_busily(server.server(), 2));
  outwait(options);
  RawClient silent(server.port());
  BOOST_TEST(fills(server.server(), 3));
  BOOST_TEST(RawClient(server.port()).exchange(get("/hello")).status == 200);
  BOOST_TEST(silent.exchange(get("/hello")).status == 200);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ::test
