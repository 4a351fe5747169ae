#include <boost/test/unit_test.hpp>

#include <google/protobuf/descriptor.pb.h>

#include <string>

#include "reference.pb.h"
#include "schema/base64.h"
#include "service/gzip.h"
#include "tests/service/raw_client.h"
#include "tests/service/reference_service.h"

namespace writ::test {
namespace {

constexpr const char* kRead = "/writ.reference.ReferenceService/Read";

std::string url_safe(std::string base64) {
  for (char& c : base64) c = c == '+' ? '-' : c == '/' ? '_' : c;
  while (!base64.empty() && base64.back() == '=') base64.pop_back();
  return base64;
}

struct Fixture {
  ReferenceServer server;
  RawClient client{server.port()};

  RawAnswer ask(const std::string& query, std::string_view headers = "") {
    return client.exchange(get(kRead + ("?" + query), headers));
  }
};

BOOST_FIXTURE_TEST_SUITE(connect_get, Fixture)

BOOST_AUTO_TEST_CASE(a_method_without_side_effects_may_be_asked_with_GET) {
  const RawAnswer answer = ask("connect=v1&encoding=json&message=%7B%22text%22%3A%22a+b%2Bc%22%7D");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body == R"({"text":"a b+c","actor":"anonymous"})");
  BOOST_TEST(answer.header("Content-Type") == "application/json");
  BOOST_TEST(answer.header("Cache-Control") == "no-cache");
}

BOOST_AUTO_TEST_CASE(binary_and_compressed_messages_are_base64) {
  reference::EchoRequest request;
  request.set_text("\xc3\xbf\xc3\xbe?~?~>>");
  const std::string bytes = request.SerializeAsString();
  for (const std::string& text : {encode_base64(bytes), url_safe(encode_base64(bytes))}) {
    std::string escaped;
    for (const char c : text) escaped += c == '+' ? "%2B" : c == '/' ? "%2F" : std::string(1, c);
    const RawAnswer answer = ask("connect=v1&base64=1&encoding=proto&message=" + escaped);
    BOOST_TEST(answer.status == 200, text);
    BOOST_TEST(answer.body.substr(0, bytes.size()) == bytes, text);
  }
  const std::string compressed = url_safe(encode_base64(gzip(R"({"number":5})")));
  const RawAnswer answer =
      ask("connect=v1&encoding=json&base64=1&compression=gzip&message=" + compressed);
  BOOST_TEST(answer.body == R"({"number":"5","actor":"anonymous"})");
}

BOOST_AUTO_TEST_CASE(an_empty_binary_message_is_a_message) {
  BOOST_TEST(ask("encoding=proto&message=").status == 200);
}

BOOST_AUTO_TEST_CASE(a_bad_query_is_refused) {
  const std::pair<const char*, const char*> rows[] = {
      {"connect=v2&encoding=json&message=%7B%7D", "invalid query: connect must be v1"},
      {"message=%7B%7D", "invalid query: encoding must be proto or json"},
      {"encoding=xml&message=%7B%7D", "invalid query: encoding must be proto or json"},
      {"encoding=json", "invalid query: message is missing"},
      {"encoding=json&message=", "the body is empty; it must be a JSON object"},
      {"encoding=json&base64=2&message=", "invalid query: base64 must be 1"},
      {"encoding=json&base64=1&message=*", "invalid query: message must be base64"},
      {"encoding=json&message=%7",
       "invalid query: a percent sign must be followed by two hexadecimal digits"},
      {"encoding=json&message=%7B%7D&message=%7B%7D", "invalid query: message is given twice"},
      {"encoding=json&encoding=proto&message=", "invalid query: encoding is given twice"},
      {"encoding=json&message=%7B%7D&connect=v1&connect=v1",
       "invalid query: connect is given twice"},
      {"base64=1&base64=0&encoding=json&message=", "invalid query: base64 is given twice"},
      {"compression=gzip&%63ompression=&encoding=json&message=",
       "invalid query: compression is given twice"},
  };
  for (const auto& [query, message] : rows) {
    const RawAnswer answer = ask(query);
    BOOST_TEST(answer.status == 400, query);
    BOOST_TEST(answer.body ==
               R"({"code":"invalid_argument","message":")" + std::string(message) + "\"}");
  }
  BOOST_TEST(ask("encoding=json&compression=br&message=%7B%7D").status == 501);
  // Of names that mean nothing here any number may come.
  BOOST_TEST(ask("x=1&encoding=json&message=%7B%7D&x=2").status == 200);
}

BOOST_AUTO_TEST_CASE(a_method_with_side_effects_may_not) {
  const RawAnswer answer =
      client.exchange(get(std::string(kEcho) + "?connect=v1&encoding=json&message=%7B%7D"));
  BOOST_TEST(answer.status == 405);
  BOOST_TEST(answer.header("Allow") == "OPTIONS, POST");
}

BOOST_AUTO_TEST_CASE(the_services_describe_themselves) {
  Router router(RouterOptions{});
  register_reference_service(router);
  google::protobuf::FileDescriptorSet set;
  BOOST_REQUIRE(set.ParseFromString(router.file_descriptor_set()));
  BOOST_REQUIRE(set.file_size() == 1);
  BOOST_TEST(set.file(0).service(0).name() == "ReferenceService");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(web_pages)

BOOST_AUTO_TEST_CASE(a_preflight_of_an_allowed_origin_is_granted) {
  RouterOptions options;
  options.allowed_origins = {"https://console.example"};
  ReferenceServer server({}, options);
  RawClient client(server.port());
  const auto preflight = [&](const std::string& path, const std::string& origin) {
    return client.exchange("OPTIONS " + path + " HTTP/1.1\r\nHost: a\r\nOrigin: " + origin +
                           "\r\nAccess-Control-Request-Method: POST\r\n\r\n");
  };
  RawAnswer answer = preflight(kRead, "https://console.example");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("Access-Control-Allow-Origin") == "https://console.example");
  BOOST_TEST(answer.header("Access-Control-Allow-Methods") == "GET, OPTIONS, POST");
  BOOST_TEST(answer.header("Access-Control-Allow-Headers").find("Connect-Protocol-Version") !=
             std::string::npos);
  BOOST_TEST(answer.header("Vary") == "Origin");
  BOOST_TEST(preflight(kEcho, "https://console.example").header("Access-Control-Allow-Methods") ==
             "OPTIONS, POST");
  answer = preflight(kRead, "https://evil.example");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("Allow") == "GET, OPTIONS, POST");
  BOOST_TEST(answer.header("Access-Control-Allow-Origin").empty());
  BOOST_TEST(answer.header("Access-Control-Allow-Methods").empty());
}

BOOST_AUTO_TEST_CASE(an_answer_can_be_read_by_pages_of_allowed_origins_only) {
  RouterOptions options;
  options.allowed_origins = {"https://console.example"};
  ReferenceServer server({}, options);
  RawClient client(server.port());
  const std::string headers = "Origin: https://console.example\r\n";
  for (const RawAnswer& answer :
       {client.exchange(post(kEcho, "application/json", "{}", headers)),
        client.exchange(post(kEcho, "application/json", "not json", headers)),
        client.exchange(get("/hello", headers)), client.exchange(get("/nothing", headers))}) {
    BOOST_TEST(answer.header("Access-Control-Allow-Origin") == "https://console.example");
    BOOST_TEST(answer.header("Access-Control-Expose-Headers").find("X-Request-Id") !=
               std::string::npos);
  }
  const RawAnswer other = client.exchange(get("/hello", "Origin: https://evil.example\r\n"));
  BOOST_TEST(other.header("Access-Control-Allow-Origin").empty());
  BOOST_TEST(other.header("Vary") == "Origin");
}

BOOST_AUTO_TEST_CASE(OPTIONS_is_answered_everywhere) {
  ReferenceServer server;
  RawClient client(server.port());
  const std::pair<const char*, const char*> rows[] = {{"*", "GET, HEAD, OPTIONS, POST"},
                                                      {"/hello", "GET, HEAD, OPTIONS"},
                                                      {kEcho, "OPTIONS, POST"},
                                                      {kRead, "GET, OPTIONS, POST"}};
  for (const auto& [path, allow] : rows) {
    const RawAnswer answer =
        client.exchange("OPTIONS " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    BOOST_TEST(answer.status == 200, path);
    BOOST_TEST(answer.header("Allow") == allow, path);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ::test
