#include <boost/test/unit_test.hpp>

#include "service/gzip.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/binary_messages.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"
#include "tests/service/raw_client.h"

namespace writ::test {
namespace {

const std::string kCreate = kService + "CreateSettings";
const std::string kUpdate = kService + "UpdateSettings";
const std::string kGood = create_json(key_json("a"), queue_settings("q")).dump();

struct Service {
  const TestDatabase database;
  WritProcess writ{database};
  ApiClient client{writ.port()};

  std::string events() const {
    return query_one(database.conninfo(), "SELECT count(*) FROM writ.events");
  }
};

void check(const HttpAnswer& answer, int status, const std::string& code,
           const std::string& message) {
  BOOST_TEST(answer.status == status);
  BOOST_TEST(answer.code() == code, answer.body);
  BOOST_TEST(answer.message() == message);
  BOOST_TEST(!answer.header("X-Request-Id").empty());
}

const std::string kTooLarge = "the message is larger than the limit of 65536 bytes";

struct SmallService {
  const TestDatabase database;
  WritProcess writ{[this] {
    auto arguments = on(database);
    arguments.insert(arguments.end(), {"--max-body-bytes", "65536"});
    return arguments;
  }()};
  ApiClient client{writ.port()};

  ~SmallService() {
    BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") == "0");
    BOOST_TEST(client.get("/healthz").status == 200);
  }
};

void check_too_large(const RawAnswer& answer) {
  BOOST_TEST(answer.status == 429);
  BOOST_TEST(answer.body == "{\"code\":\"resource_exhausted\",\"message\":\"" + kTooLarge + "\"}");
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_body, Service)

BOOST_AUTO_TEST_CASE(that_is_not_the_message_in_JSON_is_refused) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "the body is empty; it must be a JSON object"},
      {"{", ""},
      {"not JSON", ""},
      {kGood + "x", ""},
      {kGood + kGood, ""},
      {"[]", "invalid JSON: must be an object"},
      {"\"text\"", "invalid JSON: must be an object"},
      {R"({"key":"a"})", "invalid key: must be an object"},
      {R"({"key":[]})", "invalid key: must be an object"},
      {R"({"key":{"domain":1}})", "invalid key.domain: must be a string"},
      {R"({"key":{"domain":"a"},"settings":true})", "invalid settings: must be an object"},
      {R"({"key":{},"settings":{"labels":{"mapValue":{"entries":{"a":1}}}}})",
       "invalid settings.labels.map_value.entries[\"a\"]: must be a string"},
      {R"({"key":{},"settings":{"labels":{"mapValue":{"entries":["a"]}}}})",
       "invalid settings.labels.map_value.entries: must be an object"},
      {R"({"key":{},"settings":{"app":{"disallowAnonymous":{"boolValue":"true"}}}})",
       "invalid settings.app.disallow_anonymous.bool_value: must be true or false"},
      {R"({"key":{},"settings":{"run":{"maxActionConcurrency":{"intValue":"9223372036854775808"}}}})",
       "invalid settings.run.max_action_concurrency.int_value: must be a whole number from "
       "-9223372036854775808 to 9223372036854775807"},
      {R"({"key":{},"settings":{"run":{"defaultQueue":{"state":"SETTING_STATE_VALU"}}}})",
       "invalid settings.run.default_queue.state: unknown flyteidl2.settings.SettingState "
       "\"SETTING_STATE_VALU\" (did you mean \"SETTING_STATE_VALUE\"?)"},
      {R"({"key":{},"settings":{"run":{"defaultQueue":{"state":"value"}}}})",
       "invalid settings.run.default_queue.state: unknown flyteidl2.settings.SettingState "
       "\"value\" (did you mean \"SETTING_STATE_VALUE\"?)"},
      {R"({"key":{},"settings":{"task_resource":{"default_accelerator":{"acceleratorValue":)"
       R"({"deviceClass":"TOASTER"}}}}})",
       "invalid settings.task_resource.default_accelerator.accelerator_value.device_class: "
       "unknown flyteidl2.core.GPUAccelerator.DeviceClass \"TOASTER\""},
      {R"({"key":{},"key":{}})", "invalid key: is given twice"},
      {R"({"key":{},"settings":{"podTemplateName":{},"pod_template_name":{}}})",
       "invalid settings.pod_template_name: is given twice"},
      {R"({"key":{},"settings":{"labels":{"mapValue":{"entries":{"a":"1","a":"2"}}}}})",
       "invalid settings.labels.map_value.entries[\"a\"]: is given twice"},
      {R"({"key":{},"settings":{"nothing":{"a":1,"a":2}}})",
       "invalid settings.nothing[\"a\"]: is given twice"},
      {"{\"key\":{\"domain\":\"\xff\"}}", ""},
      {R"({"key":{"domain":"\ud800"}})", ""},
      {"{\"key\":{\"domain\":\"a\nb\"}}", ""},
  };
  for (const auto& [body, message] : rows) {
    BOOST_TEST_CONTEXT(body) {
      const auto answer = client.call("CreateSettings", body);
      BOOST_TEST(answer.status == 400);
      BOOST_TEST(answer.code() == "invalid_argument", answer.body);
      if (*message != '\0')
        BOOST_TEST(answer.message() == message);
      else
        BOOST_TEST(answer.message().starts_with("invalid JSON: "), answer.message());
    }
  }
  BOOST_TEST(events() == "0");
}

BOOST_AUTO_TEST_CASE(that_is_nested_too_deep_is_refused) {
  for (const int depth : {101, 100'000}) {
    const std::string nested(static_cast<std::size_t>(depth), '[');
    const std::string closed(static_cast<std::size_t>(depth), ']');
    const auto answer =
        client.call("CreateSettings", "{\"key\":{},\"settings\":{},\"x\":" + nested + closed + "}");
    BOOST_TEST(answer.code() == "invalid_argument", answer.body);
  }
  BOOST_TEST(events() == "0");
}

BOOST_AUTO_TEST_CASE(that_is_not_the_message_in_binary_is_refused) {
  const std::string message = "the body is not a flyteidl2.settings.CreateSettingsRequest message";
  for (const std::string& body :
       {std::string("\x0a"), std::string("\x0a\x05"), std::string("\xff\xff\xff\xff\xff\xff"),
        kGood, std::string("\x0a\x03\x12\x01\xff")})  // not UTF-8 in the domain
    check(client.call_binary("CreateSettings", body), 400, "invalid_argument", message);
  check(client.call_binary("CreateSettings", ""), 400, "invalid_argument", "key is required");
  BOOST_TEST(events() == "0");
}

BOOST_AUTO_TEST_CASE(with_a_misspelt_setting_is_accepted_with_a_warning) {
  const std::string body =
      R"({"key":{"domain":"a"},"settings":{"run":{"defaultQeue":{"state":"SETTING_STATE_VALUE",)"
      R"("stringValue":"q"}},"lables":{}}})";
  const auto answer = client.call("CreateSettings", body);
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("Warning") ==
             "299 writ \"unknown fields ignored: settings.run.defaultQeue, settings.lables\"");
  BOOST_TEST(answer.json().at("settingsRecord").at("settings").dump() == "{}");
  const auto clean = client.call("GetSettings", Json::object({{"key", key_json("a")}}));
  BOOST_TEST(clean.header("Warning") == "");
}

// In binary too: what a newer client knows is not stored here, and not lost in silence.
BOOST_FIXTURE_TEST_CASE(a_field_that_is_unknown_in_binary_is_named_by_its_number, Service) {
  // key {domain "d"}, settings {field 99: 1, run {field 17: 1}}
  const std::string request("\x0a\x03\x12\x01\x64\x12\x08\x98\x06\x01\x0a\x03\x88\x01\x01", 15);
  const auto answer = client.call_binary("CreateSettings", request);
  BOOST_TEST(answer.status == 200, answer.body);
  BOOST_TEST(answer.header("Warning") ==
             "299 writ \"unknown fields ignored: settings.99, settings.run.17\"");
  BOOST_TEST(answer.body.find("\x98\x06") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(may_be_said_in_other_words) {
  const std::string body =
      R"({ "settings" : {"pod_template_name": {"state": 2, "string_value": "t"}, "run": null,)"
      R"( "task_resource": {"min": {"cpu": {"quantityValue": "1", "state": 2.0}}}},)"
      "\r\n\t \"key\": {\"domain\": \"\\u0061\", \"project\": null}}";
  const auto answer = client.send("POST", kCreate, "application/json; charset=utf-8", body);
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body ==
             R"({"settingsRecord":{"key":{"domain":"a"},"settings":{"taskResource":{"min":{"cpu":)"
             R"({"state":"SETTING_STATE_VALUE","quantityValue":"1"}}},"podTemplateName":)"
             R"({"state":"SETTING_STATE_VALUE","stringValue":"t"}},"version":"1"}})");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_body_over_the_limit, SmallService)

BOOST_AUTO_TEST_CASE(is_refused_by_its_announced_length) {
  RawClient raw(writ.port());
  raw.send("POST " + kCreate +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Content-Length: 65537\r\n\r\n");
  check_too_large(raw.receive());
  RawClient huge(writ.port());
  huge.send("POST " + kCreate +
            " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
            "\r\nContent-Length: 999999999999999999\r\n\r\n");
  check_too_large(huge.receive());
}

BOOST_AUTO_TEST_CASE(is_refused_when_it_comes_in_chunks) {
  RawClient raw(writ.port());
  raw.send("POST " + kCreate +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Transfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "1000\r\n" + std::string(4096, ' ') + "\r\n";
  for (int i = 0; i < 17; ++i) raw.send(chunk);
  check_too_large(raw.receive());
}

BOOST_AUTO_TEST_CASE(is_refused_when_it_only_becomes_large) {
  const std::string bomb = gzip(std::string(50 * 1024 * 1024, ' '), 6);
  BOOST_REQUIRE(bomb.size() < 65536u);
  for (const char* type : {"application/json", "application/proto"}) {
    const auto answer = client.send("POST", kCreate, type, bomb, {{"Content-Encoding", "gzip"}});
    BOOST_TEST(answer.status == 429);
    BOOST_TEST(answer.code() == "resource_exhausted");
    BOOST_TEST(answer.message() == kTooLarge);
  }
  // It was not inflated first and measured then.
  if (kUnsanitized) BOOST_TEST(writ.memory_kib("VmHWM") < 48 * 1024);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_request, Service)

BOOST_AUTO_TEST_CASE(for_what_is_not_there_is_told_so) {
  const auto post = [&](const std::string& path) {
    return client.send("POST", path, "application/json", "{}");
  };
  check(post(kService + "DeleteSettings"), 501, "unimplemented", "the service has no such method");
  check(post(kService + "createsettings"), 501, "unimplemented", "the service has no such method");
  for (const std::string& path : {std::string("/"), std::string("/flyteidl2.settings.Other/Get"),
                                  kCreate + "/", "/api" + kCreate, std::string("/healthz/")})
    BOOST_TEST_CONTEXT(path) BOOST_TEST(post(path).status == 404);
}

BOOST_AUTO_TEST_CASE(with_the_wrong_HTTP_method_is_told_the_right_one) {
  for (const std::string& path : {kCreate, kUpdate})
    for (const char* method : {"GET", "PUT", "DELETE", "PATCH"}) {
      BOOST_TEST_CONTEXT(method << " " << path) {
        const auto answer = client.send(method, path, "application/json", kGood);
        BOOST_TEST(answer.status == 405);
        BOOST_TEST(answer.header("Allow").find("POST") != std::string::npos);
        BOOST_TEST(answer.header("Allow").find(method) == std::string::npos);
      }
    }
  BOOST_TEST(events() == "0");
}

BOOST_AUTO_TEST_CASE(of_an_unknown_content_type_is_told_the_known_ones) {
  for (const char* type : {"text/plain", "application/xml", "application/json; charset=latin1",
                           "application/jsonp", "application/x-www-form-urlencoded", ""}) {
    BOOST_TEST_CONTEXT("Content-Type: " << type) {
      const auto answer = client.send("POST", kCreate, type, kGood);
      BOOST_TEST(answer.status == 415);
      const std::string accepted = answer.header("Accept-Post");
      BOOST_TEST(accepted.find("application/json") != std::string::npos, accepted);
      BOOST_TEST(accepted.find("application/proto") != std::string::npos, accepted);
    }
  }
  BOOST_TEST(events() == "0");
}

BOOST_AUTO_TEST_CASE(in_an_unknown_compression_is_told_the_known_ones) {
  for (const char* encoding : {"br", "zstd", "deflate", "GZIP2"}) {
    BOOST_TEST_CONTEXT(encoding)
    check(client.call("CreateSettings", kGood, {{"Content-Encoding", encoding}}), 501,
          "unimplemented",
          "unknown compression \"" + std::string(encoding) +
              "\": supported encodings are gzip, identity");
  }
  const std::string packed = gzip(kGood);
  for (const std::string& body : {kGood, packed.substr(0, packed.size() - 1), packed + "x"})
    check(client.call("CreateSettings", body, {{"Content-Encoding", "gzip"}}), 400,
          "invalid_argument", "the body is not valid gzip");
  BOOST_TEST(events() == "0");
}

BOOST_AUTO_TEST_CASE(may_be_compressed) {
  const auto json = client.call("CreateSettings", gzip(kGood), {{"Content-Encoding", "gzip"}});
  BOOST_TEST(json.version() == 1);
  const Json other = create_json(key_json("b"), queue_settings("q"));
  const auto binary = client.call_binary(
      "CreateSettings", gzip(to_binary(*settings_method("CreateSettings").input_type(), other)),
      {{"Content-Encoding", "gzip"}});
  BOOST_TEST(binary.status == 200);
  BOOST_TEST(events() == "2");
}

BOOST_AUTO_TEST_CASE(in_another_version_of_the_protocol_is_refused) {
  check(client.call("CreateSettings", kGood, {{"Connect-Protocol-Version", "2"}}), 400,
        "invalid_argument", "invalid Connect-Protocol-Version: must be 1");
  for (const char* timeout : {"", "-1", "1s", "12345678901"})
    check(client.call("CreateSettings", kGood, {{"Connect-Timeout-Ms", timeout}}), 400,
          "invalid_argument", "invalid Connect-Timeout-Ms: must be at most 10 digits");
  BOOST_TEST(client.call("CreateSettings", kGood, {{"Connect-Timeout-Ms", "0"}}).code() ==
             "deadline_exceeded");
  BOOST_TEST(events() == "0");
  const auto good = client.call(
      "CreateSettings", kGood, {{"Connect-Protocol-Version", "1"}, {"Connect-Timeout-Ms", "9000"}});
  BOOST_TEST(good.version() == 1);
}

BOOST_AUTO_TEST_CASE(that_is_no_HTTP_leaves_the_service_well) {
  for (const std::string& bytes :
       {std::string("GET\r\n\r\n"), std::string("\x16\x03\x01\x02\r\n\r\n", 8),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        "POST " + kCreate +
            " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
    RawClient raw(writ.port());
    const RawAnswer answer = raw.exchange(bytes);
    BOOST_TEST(answer.status >= 400);
  }
  BOOST_TEST(client.get("/healthz").status == 200);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
