#include <boost/test/unit_test.hpp>

#include <string>

#include "reference.pb.h"
#include "schema/base64.h"
#include "service/connect.h"
#include "service/gzip.h"
#include "tests/service/raw_client.h"
#include "tests/service/reference_service.h"

namespace writ::test {
namespace {

using reference::EchoRequest;
using reference::EchoResponse;
using reference::FailRequest;

constexpr const char* kRead = "/writ.reference.ReferenceService/Read";
constexpr const char* kFail = "/writ.reference.ReferenceService/Fail";

EchoResponse parse(const std::string& bytes) {
  EchoResponse response;
  BOOST_REQUIRE(response.ParseFromString(bytes));
  return response;
}

struct Fixture {
  ReferenceServer server;
  RawClient client{server.port()};

  RawAnswer json(std::string_view body, std::string_view headers = "") {
    return client.exchange(post(kEcho, "application/json", body, headers));
  }
  RawAnswer proto(const google::protobuf::Message& body, std::string_view headers = "",
                  std::string_view path = kEcho) {
    return client.exchange(post(path, "application/proto", body.SerializeAsString(), headers));
  }
};

BOOST_FIXTURE_TEST_SUITE(connect_unary, Fixture)

BOOST_AUTO_TEST_CASE(binary_messages_are_answered_in_binary) {
  EchoRequest request;
  request.set_text("hi");
  request.set_number(1LL << 60);
  const RawAnswer answer = proto(request, "Connect-Protocol-Version: 1\r\n");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("Content-Type") == "application/proto");
  BOOST_TEST(parse(answer.body).text() == "hi");
  BOOST_TEST(parse(answer.body).number() == 1LL << 60);
  BOOST_TEST(parse(answer.body).actor() == "anonymous");
}

BOOST_AUTO_TEST_CASE(json_messages_are_answered_in_json) {
  for (const char* type :
       {"application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8",
        "application/json; charset=\"utf-8\""}) {
    const RawAnswer answer = client.exchange(post(kEcho, type, R"({"text":"hi","number":"12"})"));
    BOOST_TEST(answer.status == 200, type);
    BOOST_TEST(answer.header("Content-Type") == "application/json", type);
    BOOST_TEST(answer.body == R"({"text":"hi","number":"12","actor":"anonymous"})", type);
  }
}

BOOST_AUTO_TEST_CASE(map_entries_are_sorted_in_both_codecs) {
  EchoRequest request;
  for (int i = 0; i < 40; ++i)
    (*request.mutable_entries())["k" + std::to_string(100 + i * 7 % 40)] = "v";
  std::string expected;
  for (int i = 0; i < 40; ++i)
    expected += "\x22\x09\x0a\x04k" + std::to_string(100 + i) + "\x12\x01v";
  const std::string body = proto(request).body;
  BOOST_TEST(body.substr(0, expected.size()) == expected);
  const std::string text = json(R"({"entries":{"b":"1","a":"2","c":"3"}})").body;
  BOOST_TEST(text == R"({"entries":{"a":"2","b":"1","c":"3"},"actor":"anonymous"})");
}

BOOST_AUTO_TEST_CASE(an_empty_binary_body_is_an_empty_message_and_an_empty_json_body_is_an_error) {
  BOOST_TEST(proto(EchoRequest()).status == 200);
  const RawAnswer answer = json("");
  BOOST_TEST(answer.status == 400);
  BOOST_TEST(
      answer.body ==
      R"({"code":"invalid_argument","message":"the body is empty; it must be a JSON object"})");
}

BOOST_AUTO_TEST_CASE(a_body_that_cannot_be_decoded_is_invalid_argument) {
  for (const char* body : {"{", "[]", "{\"text\":1}", "{\"text\":\"\xff\"}", "{} x"}) {
    const RawAnswer answer = json(body);
    BOOST_TEST(answer.status == 400, body);
    BOOST_TEST(answer.body.starts_with(R"({"code":"invalid_argument",)"), answer.body);
  }
  const RawAnswer answer = client.exchange(post(kEcho, "application/proto", "\xff\xff\xff"));
  BOOST_TEST(answer.status == 400);
  BOOST_TEST(
      answer.body ==
      R"({"code":"invalid_argument","message":"the body is not a writ.reference.EchoRequest message"})");
}

BOOST_AUTO_TEST_CASE(ignored_json_fields_are_named_in_a_warning) {
  const RawAnswer answer = json(R"({"text":"hi","colour":1,"a\"\r\nX: b":2})");
  BOOST_TEST(answer.status == 200);
  const std::string warning = answer.header("Warning");
  BOOST_TEST(warning.starts_with("299 writ \"unknown fields ignored: colour, "), warning);
  BOOST_TEST(warning.find('\r') == std::string::npos);
  BOOST_TEST(answer.header("X").empty());
  BOOST_TEST(json(R"({"text":"hi"})").header("Warning").empty());
}

BOOST_AUTO_TEST_CASE(other_content_types_are_415) {
  for (const char* type :
       {"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1",
        "application/protobuf", "multipart/form-data; boundary=x"}) {
    const RawAnswer answer = client.exchange(post(kEcho, type, "{}"));
    BOOST_TEST(answer.status == 415, type);
    BOOST_TEST(answer.header("Accept-Post").starts_with("application/json, application/proto"),
               type);
  }
}

BOOST_AUTO_TEST_CASE(other_http_methods_are_405) {
  for (const char* method : {"PUT", "DELETE", "PATCH"}) {
    const RawAnswer answer =
        client.exchange(std::string(method) + " " + kEcho + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    BOOST_TEST(answer.status == 405, method);
    BOOST_TEST(answer.header("Allow").find("POST") != std::string::npos, method);
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_method_of_a_known_service_is_unimplemented) {
  const RawAnswer answer =
      client.exchange(post("/writ.reference.ReferenceService/Nothing", "application/json", "{}"));
  BOOST_TEST(answer.status == 501);
  BOOST_TEST(answer.body ==
             R"({"code":"unimplemented","message":"the service has no such method"})");
  BOOST_TEST(client.exchange(post("/writ.reference.Other/Echo", "application/json", "{}")).status ==
             404);
}

BOOST_AUTO_TEST_CASE(gzip_requests_are_read) {
  const std::string body = gzip(R"({"text":"compressed"})");
  RawAnswer answer = json(body, "Content-Encoding: gzip\r\n");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body == R"({"text":"compressed","actor":"anonymous"})");
  BOOST_TEST(json(R"({})", "Content-Encoding: identity\r\n").status == 200);
  answer = json("not gzip", "Content-Encoding: gzip\r\n");
  BOOST_TEST(answer.status == 400);
  answer = json("{}", "Content-Encoding: br\r\n");
  BOOST_TEST(answer.status == 501);
  BOOST_TEST(
      answer.body ==
      R"({"code":"unimplemented","message":"unknown compression \"br\": supported encodings are gzip, identity"})");
}

BOOST_AUTO_TEST_CASE(large_answers_are_gzip_when_asked_for) {
  const std::string body = R"({"answerBytes":5000})";
  const RawAnswer plain = json(body);
  BOOST_TEST(plain.header("Content-Encoding").empty());
  for (const char* accept : {"gzip", "br, gzip;q=0.5", "deflate,GZIP"}) {
    const RawAnswer answer = json(body, "Accept-Encoding: " + std::string(accept) + "\r\n");
    BOOST_TEST(answer.header("Content-Encoding") == "gzip", accept);
    BOOST_TEST(answer.body.size() < 1000U);
    BOOST_TEST((std::get<std::string>(gunzip(answer.body, 1'000'000)) == plain.body), accept);
  }
  for (const char* accept : {"br", "gzip;q=0", "gzip;q=0.0", "xgzip", "identity"}) {
    BOOST_TEST(json(body, "Accept-Encoding: " + std::string(accept) + "\r\n").body == plain.body,
               accept);
  }
  BOOST_TEST(json("{}", "Accept-Encoding: gzip\r\n").header("Content-Encoding").empty());
}

BOOST_AUTO_TEST_CASE(headers_that_break_a_rule_are_invalid_argument) {
  const std::pair<std::string, std::string> rows[] = {
      {"Connect-Protocol-Version: 2", "invalid Connect-Protocol-Version: must be 1"},
      {"Connect-Timeout-Ms: 12345678901", "invalid Connect-Timeout-Ms: must be at most 10 digits"},
      {"Connect-Timeout-Ms: -1", "invalid Connect-Timeout-Ms: must be at most 10 digits"},
      {"Connect-Timeout-Ms:", "invalid Connect-Timeout-Ms: must be at most 10 digits"},
      {"Writ-Reason: \xff", "invalid Writ-Reason: must be at most 4096 bytes of UTF-8"},
      {"Writ-Reason: " + std::string(4097, 'a'),
       "invalid Writ-Reason: must be at most 4096 bytes of UTF-8"},
      {"Idempotency-Key:", "invalid Idempotency-Key: must be 1 to 128 printable ASCII characters"},
      {"Idempotency-Key: " + std::string(129, 'a'),
       "invalid Idempotency-Key: must be 1 to 128 printable ASCII characters"},
      {"Idempotency-Key: \xc3\xa4",
       "invalid Idempotency-Key: must be 1 to 128 printable ASCII characters"},
  };
  for (const auto& [header, message] : rows) {
    const RawAnswer answer = json("{}", header + "\r\n");
    BOOST_TEST(answer.status == 400, header);
    BOOST_TEST(answer.body == R"({"code":"invalid_argument","message":")" + message + "\"}",
               header);
  }
}

BOOST_AUTO_TEST_CASE(the_context_comes_from_the_headers) {
  EchoRequest request;
  const std::string long_reason(4096, 'r');
  const RawAnswer answer =
      proto(request, "Writ-Reason: " + long_reason + "\r\nIdempotency-Key: key 1\r\n");
  const EchoResponse response = parse(answer.body);
  BOOST_TEST(response.actor() == "anonymous");
  BOOST_TEST(response.reason() == long_reason);
  BOOST_TEST(response.idempotency_key() == "key 1");
}

BOOST_AUTO_TEST_CASE(a_deadline_that_has_passed_is_deadline_exceeded) {
  RawAnswer answer = json("{}", "Connect-Timeout-Ms: 0\r\n");
  BOOST_TEST(answer.status == 504);
  BOOST_TEST(answer.body == R"({"code":"deadline_exceeded","message":"the deadline has passed"})");
  const std::string slow = R"({"waitMs":100})";
  answer = client.exchange(post(kRead, "application/json", slow, "Connect-Timeout-Ms: 20\r\n"));
  BOOST_TEST(answer.status == 504);
  // A write that happened is not denied.
  BOOST_TEST(json(slow, "Connect-Timeout-Ms: 20\r\n").status == 200);
  BOOST_TEST(json(slow, "Connect-Timeout-Ms: 9999999999\r\n").status == 200);
}

BOOST_AUTO_TEST_CASE(each_code_has_its_name_and_status) {
  const std::pair<const char*, int> rows[] = {
      {"canceled", 499},
      {"unknown", 500},
      {"invalid_argument", 400},
      {"deadline_exceeded", 504},
      {"not_found", 404},
      {"already_exists", 409},
      {"permission_denied", 403},
      {"resource_exhausted", 429},
      {"failed_precondition", 400},
      {"aborted", 409},
      {"out_of_range", 400},
      {"unimplemented", 501},
      {"internal", 500},
      {"unavailable", 503},
      {"data_loss", 500},
      {"unauthenticated", 401},
  };
  int code = 0;
  for (const auto& [name, status] : rows) {
    FailRequest request;
    request.set_code(code++);
    request.set_message("said \"so\"\n");
    const RawAnswer answer = proto(request, "", kFail);
    BOOST_TEST(answer.status == status, name);
    BOOST_TEST(answer.header("Content-Type") == "application/json");
    BOOST_TEST(answer.body ==
               R"({"code":")" + std::string(name) + R"(","message":"said \"so\"\n"})");
  }
}

BOOST_AUTO_TEST_CASE(error_details_are_typed_messages) {
  FailRequest request;
  request.set_code(static_cast<int>(Code::kFailedPrecondition));
  request.set_message("no");
  request.set_detail(true);
  const RawAnswer answer = proto(request, "", kFail);
  BOOST_TEST(
      answer.body ==
      R"({"code":"failed_precondition","message":"no","details":[{"type":"writ.reference.EchoRequest",)"
      R"("value":"Cgp0aGUgZGV0YWlsEAc","debug":{"text":"the detail","number":"7"}}]})");
}

BOOST_AUTO_TEST_CASE(exceptions_of_lower_layers_are_translated_or_hidden) {
  FailRequest request;
  request.set_message("the database is away");
  request.set_code(kFailTranslated);
  RawAnswer answer = proto(request, "", kFail);
  BOOST_TEST(answer.status == 503);
  BOOST_TEST(answer.body == R"({"code":"unavailable","message":"the database is away"})");
  request.set_code(kFailUntranslated);
  answer = proto(request, "X-Request-Id: r9\r\n", kFail);
  BOOST_TEST(answer.status == 500);
  BOOST_TEST(answer.body == R"({"code":"internal","message":"internal error, request id r9"})");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(anonymous_run)

BOOST_AUTO_TEST_CASE(a_web_page_of_somebody_else_is_refused) {
  RouterOptions options;
  options.only_local_pages = [] { return true; };
  options.allowed_origins = {"https://console.example"};
  ReferenceServer server({}, options);
  struct Row {
    const char* host;
    const char* origin;
    int status;
  };
  const Row rows[] = {
      {"localhost:80", "", 200},
      {"127.0.0.1:80", "", 200},
      {"[::1]:80", "", 200},
      {"writ.localhost", "", 200},
      {"evil.example", "", 403},
      {"localhost.evil.example", "", 403},
      {"evillocalhost", "", 403},
      {"10.0.0.1", "", 403},
      {"localhost:80", "http://localhost:80", 200},
      {"localhost:80", "http://localhost:81", 403},
      {"localhost:80", "http://evil.example", 403},
      {"localhost:80", "null", 403},
      {"localhost:80", "https://console.example", 200},
      {"evil.example", "http://evil.example", 403},
  };
  for (const Row& row : rows) {
    RawClient client(server.port());
    const std::string origin =
        *row.origin == '\0' ? "" : "Origin: " + std::string(row.origin) + "\r\n";
    const RawAnswer answer =
        client.exchange("POST " + std::string(kEcho) + " HTTP/1.1\r\nHost: " + row.host + "\r\n" +
                        origin + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
    BOOST_TEST(answer.status == row.status, row.host << " " << row.origin);
  }
}

BOOST_AUTO_TEST_CASE(another_run_does_not_look_at_host_and_origin) {
  ReferenceServer server;
  RawClient client(server.port());
  const std::string request =
      "GET /hello HTTP/1.1\r\nHost: writ.example\r\nOrigin: https://other.example\r\n\r\n";
  BOOST_TEST(client.exchange(request).status == 200);
}

BOOST_AUTO_TEST_CASE(a_message_waits_for_memory_and_not_for_ever) {
  Router router(RouterOptions{});
  register_reference_service(router);
  MemoryBudget memory(1'000'000);
  HttpRequest request;
  const std::string body = R"({"text":")" + std::string(5'000, 'x') + "\"}";
  const std::string compressed = gzip(body);
  request.head.method = "POST";
  request.head.path = kEcho;
  request.memory = &memory;
  const auto ask = [&](std::string_view bytes, bool small = false) {
    request.head.fields = {{"Content-Type", "application/json"}, {"Connect-Timeout-Ms", "200"}};
    if (bytes == compressed && !small) request.head.fields.push_back({"Content-Encoding", "gzip"});
    request.body = small ? R"({"text":"small"})" : bytes;
    request.received = std::chrono::steady_clock::now();
    HttpResponse response;
    router.handle(request, response);
    return response;
  };
  auto half = memory.wait_for(500'000, std::chrono::steady_clock::now());
  auto other_half = memory.wait_for(500'000, std::chrono::steady_clock::now());
  BOOST_REQUIRE((half && other_half));
  for (const std::string& bytes : {body, compressed}) {
    const HttpResponse refused = ask(bytes);
    BOOST_TEST(refused.status == 429);
    BOOST_TEST(refused.record.code == "resource_exhausted");
    BOOST_TEST((refused.headers ==
                std::vector<std::pair<std::string, std::string>>{{"Retry-After", "1"}}));
    BOOST_TEST(ask(bytes, true).status == 200);
  }
  half->shrink(0);
  for (const std::string& bytes : {body, compressed}) BOOST_TEST(ask(bytes).status == 200);
  BOOST_TEST(memory.used() == 500'000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ::test
