#include <algorithm>
#include <string>

#include "schema/base64.h"
#include "schema/protojson.h"
#include "service/connect_call.h"
#include "service/gzip.h"
#include "tests/fuzz/json_oracle.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/settings_router.h"
#include "tests/fuzz/targets.h"

namespace writ::fuzz {
namespace {

namespace st = flyteidl2::settings;

constexpr std::size_t kMaxMessageBytes = 4096;

HttpResponse get(SettingsRouter& router, std::string_view query) {
  HttpRequest request;
  request.head.method = "GET";
  request.head.query = query;
  return router.answer(std::move(request));
}

std::string url_safe(std::string_view bytes) {
  std::string text = without_padding(encode_base64(bytes));
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

std::string bytes_of(const google::protobuf::Message& message) {
  return encode_message(Codec::kProto, message);
}

void check_refused(const SettingsRouter& router, const HttpResponse& response) {
  require(response.status == 400 || response.status == 429 || response.status == 501,
          "a refusal is one of three");
  require(!router.asked(), "what is refused does not reach the method");
  require(response.content_type == "application/json", "a refusal is JSON");
  const JsonVerdict verdict = judge_json(response.body);
  require(verdict.well_formed && verdict.root_is_object, "a refusal is a JSON object");
  require(response.body.starts_with(R"({"code":")"), "a refusal has a code");
}

/// However the message is written in the query, the method is asked the same.
void check_other_spellings(SettingsRouter& router, st::GetSettingsRequest message) {
  const std::string bytes = bytes_of(message);
  if (bytes.size() > kMaxMessageBytes) return;
  get(router, "connect=v1&encoding=proto&base64=1&message=" + url_safe(bytes));
  require(router.asked() && bytes_of(*router.asked()) == bytes, "a message can be sent as base64");
  get(router, "message=" + url_safe(gzip(bytes)) + "&compression=gzip&base64=1&encoding=proto");
  require(router.asked() && bytes_of(*router.asked()) == bytes, "a message can be sent as gzip");
  message.DiscardUnknownFields();
  const std::string json = write_json(message);
  if (json.size() > kMaxMessageBytes) return;
  get(router, "base64=1&encoding=json&message=" + url_safe(json));
  require(router.asked() && bytes_of(*router.asked()) == bytes_of(message),
          "a message can be sent as JSON");
}

}  // namespace

void connect_get(std::string_view input) {
  static SettingsRouter router(kMaxMessageBytes);
  const HttpResponse response = get(router, input);
  if (response.status != 200) return check_refused(router, response);
  require(router.asked().has_value(), "an answer comes from the method");
  const st::GetSettingsRequest asked = *router.asked();
  st::GetSettingsResponse answer;
  if (response.content_type == "application/json") {
    require(!read_json(response.body, &answer, JsonMode::kRequest).error, "an answer is JSON");
  } else {
    require(answer.ParseFromString(response.body), "an answer is a message");
  }
  check_other_spellings(router, asked);
}

}  // namespace writ::fuzz
