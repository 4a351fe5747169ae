#include "tests/fuzz/settings_router.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>

#include "tests/fuzz/property.h"

namespace writ::fuzz {

namespace st = flyteidl2::settings;

namespace {

RouterOptions options_with(std::size_t max_message_bytes) {
  RouterOptions options;
  options.max_message_bytes = max_message_bytes;
  return options;
}

}  // namespace

SettingsRouter::SettingsRouter(std::size_t max_message_bytes)
    : router_(options_with(max_message_bytes)) {
  router_.unary<st::GetSettingsRequest, st::GetSettingsResponse>(
      find_method(st::GetSettingsRequest::descriptor(), "SettingsService", "GetSettings"),
      [this](const RequestContext&, const st::GetSettingsRequest& request) {
        asked_ = request;
        st::GetSettingsResponse response;
        *response.mutable_settingsrecord()->mutable_key() = request.key();
        return response;
      });
}

HttpResponse SettingsRouter::answer(HttpRequest request) {
  // A line for every malformed message would cost more than the message.
  const google::protobuf::LogSilencer silencer;
  asked_.reset();
  request.head.path = kPath;
  request.request_id = "id";
  request.received = std::chrono::steady_clock::now();
  HttpResponse response;
  router_.handle(request, response);
  require(response.status != 500, "nothing unexpected happens");
  for (const auto& [name, value] : response.headers) {
    require(std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; }),
            "a header field of an answer is printable ASCII");
  }
  return response;
}

}  // namespace writ::fuzz
