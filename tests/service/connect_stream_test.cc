#include <boost/test/unit_test.hpp>

#include <mutex>
#include <string>
#include <thread>

#include "reference.pb.h"
#include "schema/base64.h"
#include "service/envelope.h"
#include "service/grpc_web.h"
#include "service/gzip.h"
#include "tests/service/raw_client.h"
#include "tests/service/reference_service.h"

namespace writ::test {
namespace {

using reference::CountRequest;
using reference::CountResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr const char* kFail = "/writ.reference.ReferenceService/Fail";

std::string enveloped(std::string_view data, std::uint8_t flags = 0) {
  std::string out;
  append_envelope(flags, data, &out);
  return out;
}

// An answer in words: "1 2 3 | {end}"; compressed messages in brackets, the trailers of gRPC-Web
// with ", ".
std::string in_words(std::string body) {
  std::string_view rest = body;
  std::string out;
  while (const auto envelope = take_envelope(&rest)) {
    if ((envelope->flags & (kConnectEndFlag | kGrpcWebTrailersFlag)) != 0) {
      out += "| " + std::string(envelope->data);
      continue;
    }
    const bool compressed = (envelope->flags & kCompressedFlag) != 0;
    CountResponse response;
    response.ParseFromString(compressed ? std::get<std::string>(gunzip(envelope->data, 1'000'000))
                                        : std::string(envelope->data));
    out += compressed ? "[" + std::to_string(response.number()) + "] "
                      : std::to_string(response.number()) + " ";
  }
  for (std::size_t at = 0; (at = out.find("\r\n", at)) != std::string::npos;)
    out.replace(at, 2, ", ");
  return rest.empty() ? out : out + "<rest>";
}

CountRequest count_to(int number) {
  CountRequest request;
  request.set_to(number);
  return request;
}

struct Fixture {
  ReferenceServer server;
  RawClient client{server.port()};

  RawAnswer ask(const char* type, const std::string& body, std::string_view headers = "") {
    return client.exchange(post(kCount, type, body, headers));
  }
  RawAnswer connect(const CountRequest& request, std::string_view headers = "") {
    return ask("application/connect+proto", enveloped(request.SerializeAsString()), headers);
  }
  RawAnswer grpc_web(const CountRequest& request, std::string_view headers = "") {
    return ask("application/grpc-web+proto", enveloped(request.SerializeAsString()), headers);
  }
};

BOOST_FIXTURE_TEST_SUITE(connect_stream, Fixture)

BOOST_AUTO_TEST_CASE(messages_come_one_by_one_and_then_the_end) {
  const RawAnswer answer = connect(count_to(3));
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("Content-Type") == "application/connect+proto");
  BOOST_TEST(answer.header("Transfer-Encoding") == "chunked");
  BOOST_TEST(answer.header("X-Count") == "3");
  BOOST_TEST(answer.header("X-Request-Id").size() == 32U);
  BOOST_TEST(in_words(answer.body) == R"(1 2 3 | {"metadata":{"x-last":["one","two"]}})");
  BOOST_TEST(in_words(connect(count_to(0)).body) == R"(| {"metadata":{"x-last":["one","two"]}})");
}

BOOST_AUTO_TEST_CASE(a_message_is_sent_before_the_next_one_is_made) {
  CountRequest request = count_to(2);
  request.set_pause_ms(1000);
  const auto start = steady_clock::now();
  client.send(post(kCount, "application/connect+proto", enveloped(request.SerializeAsString())));
  std::string seen;
  while (seen.find(enveloped("\x08\x01")) == std::string::npos) seen += client.receive_bytes(1);
  BOOST_TEST((steady_clock::now() - start < milliseconds(1900)));
}

BOOST_AUTO_TEST_CASE(json_streams_work_too) {
  const RawAnswer answer = ask("application/connect+json", enveloped(R"({"to":2,"x":1})"));
  BOOST_TEST(answer.header("Content-Type") == "application/connect+json");
  BOOST_TEST(answer.header("Warning") == "299 writ \"unknown fields ignored: x\"");
  BOOST_TEST(answer.body ==
             enveloped(R"({"number":1})") + enveloped(R"({"number":2})") +
                 enveloped(R"({"metadata":{"x-last":["one","two"]}})", kConnectEndFlag));
}

BOOST_AUTO_TEST_CASE(an_error_after_messages_is_in_the_end) {
  CountRequest request = count_to(9);
  request.set_fail_after(2);
  const RawAnswer answer = connect(request);
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(in_words(answer.body) ==
             R"(1 2 | {"error":{"code":"aborted","message":"stopped at 100%\n"},)"
             R"("metadata":{"x-last":["one","two"]}})");
  request.set_fail_after(0);
  request.set_break_after(1);
  const RawAnswer hidden = connect(request, "X-Request-Id: r1\r\n");
  BOOST_TEST(
      in_words(hidden.body)
          .starts_with(
              R"(1 | {"error":{"code":"internal","message":"internal error, request id r1"})"));
  BOOST_TEST(in_words(connect(count_to(1)).body).starts_with("1 |"), "the connection goes on");
}

BOOST_AUTO_TEST_CASE(a_bad_request_is_an_end_with_an_error) {
  struct Row {
    const char* name;
    std::string body;
    std::string headers;
    std::string error;
  };
  const std::string good = enveloped(count_to(1).SerializeAsString());
  const Row rows[] = {
      {"no message", "", "",
       R"("unimplemented","message":"the request has no message; it must have one")"},
      {"two messages", good + good, "",
       R"("unimplemented","message":"the request has more than one message")"},
      {"cut short", good.substr(0, 6), "",
       R"("invalid_argument","message":"the body is not an enveloped message")"},
      {"odd flags", enveloped("", 4), "",
       R"("invalid_argument","message":"the body is not an enveloped message")"},
      {"not the message", enveloped("\xff"), "",
       R"("invalid_argument","message":"the body is not a writ.reference.CountRequest message")"},
      {"compressed without a header", enveloped(gzip(""), kCompressedFlag), "",
       R"("internal","message":"the message is compressed, but no header says how")"},
      {"not gzip", enveloped("x", kCompressedFlag), "Connect-Content-Encoding: gzip\r\n",
       R"("invalid_argument","message":"the body is not valid gzip")"},
      {"unknown compression", good, "Connect-Content-Encoding: br\r\n",
       R"("unimplemented","message":"unknown compression \"br\": supported encodings are gzip, identity")"},
      {"version", good, "Connect-Protocol-Version: 3\r\n",
       R"("invalid_argument","message":"invalid Connect-Protocol-Version: must be 1")"},
      {"timeout", good, "Connect-Timeout-Ms: 0\r\n",
       R"("deadline_exceeded","message":"the deadline has passed")"},
  };
  for (const Row& row : rows) {
    const RawAnswer answer = ask("application/connect+proto", row.body, row.headers);
    BOOST_TEST(answer.status == 200, row.name);
    BOOST_TEST(in_words(answer.body) == "| {\"error\":{\"code\":" + row.error + "}}", row.name);
  }
}

BOOST_AUTO_TEST_CASE(messages_may_be_compressed_both_ways) {
  CountRequest request = count_to(2);
  request.set_padding(5000);
  const std::string body = enveloped(gzip(request.SerializeAsString()), kCompressedFlag);
  const RawAnswer answer =
      ask("application/connect+proto", body,
          "Connect-Content-Encoding: gzip\r\nConnect-Accept-Encoding: gzip\r\n");
  BOOST_TEST(answer.header("Connect-Content-Encoding") == "gzip");
  BOOST_TEST(in_words(answer.body).starts_with("[1] [2] |"), in_words(answer.body));
  request.set_padding(0);
  BOOST_TEST(
      in_words(connect(request, "Connect-Accept-Encoding: gzip\r\n").body).starts_with("1 2 |"));
}

BOOST_AUTO_TEST_CASE(a_deadline_ends_a_stream) {
  CountRequest request = count_to(1000);
  request.set_pause_ms(20);
  const auto start = steady_clock::now();
  const RawAnswer answer = connect(request, "Connect-Timeout-Ms: 200\r\n");
  BOOST_TEST((steady_clock::now() - start < seconds(3)));
  BOOST_TEST(in_words(answer.body).find(R"("code":"deadline_exceeded")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_stream_is_not_bound_by_the_time_of_unary_calls) {
  RouterOptions options;
  options.request_time = milliseconds(50);
  ReferenceServer quick({}, options);
  RawClient other(quick.port());
  CountRequest request = count_to(4);
  request.set_pause_ms(40);
  const RawAnswer answer = other.exchange(
      post(kCount, "application/connect+proto", enveloped(request.SerializeAsString())));
  BOOST_TEST(in_words(answer.body) == R"(1 2 3 4 | {"metadata":{"x-last":["one","two"]}})");
}

BOOST_AUTO_TEST_CASE(the_wrong_kind_of_content_type_is_415) {
  RawAnswer answer = ask("application/json", "{}");
  BOOST_TEST(answer.status == 415);
  BOOST_TEST(answer.header("Accept-Post")
                 .starts_with("application/connect+json, application/connect+proto"));
  answer = client.exchange(post(kEcho, "application/connect+json", enveloped("{}")));
  BOOST_TEST(answer.status == 415);
  answer = client.exchange(post(kEcho, "application/grpc", enveloped("")));
  BOOST_TEST(answer.status == 415);
  BOOST_TEST(answer.body == "gRPC needs HTTP/2; speak Connect or gRPC-Web here\n");
  BOOST_TEST(client.exchange(get(kCount)).status == 405);
}

BOOST_AUTO_TEST_CASE(a_handler_is_told_when_its_client_has_gone) {
  {
    RawClient leaving(server.port());
    CountRequest request = count_to(1000);
    request.set_pause_ms(10'000);
    leaving.send(post(kCount, "application/connect+proto", enveloped(request.SerializeAsString())));
    const auto start = steady_clock::now();
    while (server.server().state().streams == 0 && steady_clock::now() - start < seconds(5)) {
      std::this_thread::yield();
    }
    BOOST_TEST(server.server().state().streams == 1U);
  }
  const auto start = steady_clock::now();
  while (server.server().state().streams > 0 && steady_clock::now() - start < seconds(5)) {
    std::this_thread::yield();
  }
  BOOST_TEST(server.server().state().streams == 0U);
}

BOOST_AUTO_TEST_CASE(a_stream_is_ended_properly_when_the_server_stops) {
  CountRequest request = count_to(100'000);
  request.set_pause_ms(5);
  client.send(post(kCount, "application/connect+proto", enveloped(request.SerializeAsString())));
  const auto begin = steady_clock::now();
  while (server.server().state().streams == 0 && steady_clock::now() - begin < seconds(5)) {
    std::this_thread::yield();
  }
  const auto start = steady_clock::now();
  std::thread stopper([&] { server.server().stop(seconds(10)); });
  const RawAnswer answer = client.receive();
  stopper.join();
  BOOST_TEST((steady_clock::now() - start < seconds(2)));
  BOOST_TEST(in_words(answer.body)
                 .find(R"({"code":"unavailable","message":"the server is stopping; ask again"})") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(streams_take_at_most_half_of_the_connections) {
  HttpServerOptions options;
  options.max_connections = 4;
  ReferenceServer small(options);
  CountRequest request = count_to(1000);
  request.set_pause_ms(10'000);
  const std::string slow =
      post(kCount, "application/connect+proto", enveloped(request.SerializeAsString()));
  RawClient first(small.port());
  RawClient second(small.port());
  first.send(slow);
  second.send(slow);
  const auto start = steady_clock::now();
  while (small.server().state().streams < 2 && steady_clock::now() - start < seconds(5)) {
    std::this_thread::yield();
  }
  RawClient third(small.port());
  const RawAnswer answer = third.exchange(slow);
  BOOST_TEST(
      in_words(answer.body) ==
      R"(| {"error":{"code":"resource_exhausted","message":"too many streams are open; try again later"}})");
  BOOST_TEST(third.exchange(get("/hello")).status == 200);
}

BOOST_AUTO_TEST_CASE(an_old_client_gets_its_stream_until_the_connection_closes) {
  const std::string body = enveloped(count_to(2).SerializeAsString());
  client.send("POST " + std::string(kCount) +
              " HTTP/1.0\r\nContent-Type: application/connect+proto\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string all = client.receive_bytes(100'000);
  const std::size_t end = all.find("\r\n\r\n");
  BOOST_REQUIRE(end != std::string::npos);
  BOOST_TEST(all.find("Transfer-Encoding") == std::string::npos);
  BOOST_TEST(in_words(all.substr(end + 4)).starts_with("1 2 | {"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(grpc_web_calls, Fixture)

BOOST_AUTO_TEST_CASE(a_stream_ends_with_a_frame_of_trailers) {
  RawAnswer answer = grpc_web(count_to(2));
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("Content-Type") == "application/grpc-web+proto");
  BOOST_TEST(in_words(answer.body) == "1 2 | grpc-status: 0, x-last: one, x-last: two, ");
  CountRequest request = count_to(9);
  request.set_fail_after(1);
  answer = grpc_web(request);
  BOOST_TEST(in_words(answer.body) ==
             "1 | grpc-status: 10, grpc-message: stopped at 100%25%0A, x-last: one, x-last: two, ");
}

BOOST_AUTO_TEST_CASE(the_text_form_is_base64) {
  const std::string body = encode_base64(enveloped(count_to(2).SerializeAsString()));
  const RawAnswer answer = ask("application/grpc-web-text", body);
  BOOST_TEST(answer.header("Content-Type") == "application/grpc-web-text");
  const auto decoded = decode_grpc_web_text(answer.body);
  BOOST_REQUIRE(decoded.has_value());
  BOOST_TEST(in_words(*decoded).starts_with("1 2 | grpc-status: 0, "));
  const RawAnswer bad = ask("application/grpc-web-text+proto", "***");
  BOOST_TEST(in_words(*decode_grpc_web_text(bad.body)) ==
             "| grpc-status: 3, grpc-message: the body is not base64, ");
}

BOOST_AUTO_TEST_CASE(a_unary_call_is_one_message_and_trailers_in_one_piece) {
  RawAnswer answer =
      client.exchange(post(kEcho, "application/grpc-web+json", enveloped(R"({"text":"hi"})")));
  BOOST_TEST(answer.header("Content-Length") == std::to_string(answer.body.size()));
  BOOST_TEST(answer.body == enveloped(R"({"text":"hi","actor":"anonymous"})") +
                                enveloped("grpc-status: 0\r\n", kGrpcWebTrailersFlag));
  answer = client.exchange(
      post("/writ.reference.ReferenceService/Nothing", "application/grpc-web", enveloped("")));
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(in_words(answer.body) ==
             "| grpc-status: 12, grpc-message: the service has no such method, ");
}

BOOST_AUTO_TEST_CASE(error_details_are_a_status_message) {
  reference::FailRequest request;
  request.set_code(static_cast<int>(Code::kNotFound));
  request.set_message("gone");
  request.set_detail(true);
  const RawAnswer answer =
      client.exchange(post(kFail, "application/grpc-web", enveloped(request.SerializeAsString())));
  const std::string words = in_words(answer.body);
  const std::string start = "| grpc-status: 5, grpc-message: gone, grpc-status-details-bin: ";
  BOOST_REQUIRE(words.starts_with(start));
  const auto details = decode_base64(words.substr(start.size(), words.size() - start.size() - 2));
  BOOST_REQUIRE(details.has_value());
  BOOST_TEST(details->starts_with("\x08\x05\x12\x04gone\x1a"));
  BOOST_TEST(details->find("type.googleapis.com/writ.reference.EchoRequest") != std::string::npos);
  BOOST_TEST(words.find('=') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(timeouts_have_units) {
  const std::pair<const char*, int> rows[] = {{"1H", 3'600'000},
                                              {"2M", 120'000},
                                              {"3S", 3000},
                                              {"4m", 4},
                                              {"5000u", 5},
                                              {"6000000n", 6},
                                              {"99999999S", 2'000'000'000}};
  for (const auto& [text, expected] : rows) {
    BOOST_TEST(parse_grpc_timeout(text)->count() >= expected, text);
  }
  for (const char* text : {"", "1", "S", "-1S", "1.5S", "123456789S", "1x", "1 S"}) {
    BOOST_CHECK_THROW(parse_grpc_timeout(text), ConnectError);
  }
  BOOST_TEST(!parse_grpc_timeout(std::nullopt).has_value());
  BOOST_TEST(in_words(grpc_web(count_to(1), "Grpc-Timeout: 0S\r\n").body) ==
             "| grpc-status: 4, grpc-message: the deadline has passed, ");
}

BOOST_AUTO_TEST_CASE(base64_may_come_in_padded_pieces) {
  const std::pair<const char*, std::optional<std::string>> rows[] = {
      {"", ""},
      {"YQ==", "a"},
      {"YQ", "a"},
      {"YQ==Yg==", "ab"},
      {"YWI=Y2Rl", "abcde"},
      {"YWJj", "abc"},
      {"====", std::nullopt},
      {"YQ=a", std::nullopt},
      {"Y Q=", std::nullopt},
  };
  for (const auto& [text, expected] : rows)
    BOOST_TEST((decode_grpc_web_text(text) == expected), text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ::test
