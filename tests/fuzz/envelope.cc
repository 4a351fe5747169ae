#include "service/envelope.h"

#include <string>
#include <variant>

#include "service/gzip.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/settings_router.h"
#include "tests/fuzz/targets.h"

namespace writ::fuzz {
namespace {

constexpr std::size_t kMaxMessageBytes = 4096;

void check_gzip(std::string_view bytes) {
  const auto result = gunzip(bytes, kMaxMessageBytes);
  const auto* const text = std::get_if<std::string>(&result);
  if (text == nullptr) return;
  require(text->size() <= kMaxMessageBytes, "what was inflated is within the limit");
  require(gunzip(bytes, text->size()) == result, "the limit itself is allowed");
  if (!text->empty()) {
    const auto cut = gunzip(bytes, text->size() - 1);
    require(std::holds_alternative<GzipError>(cut), "one byte over the limit is refused");
  }
  require(gunzip(gzip(*text), kMaxMessageBytes) == result, "what was inflated can be deflated");
}

void check_envelopes(std::string_view input) {
  std::string_view rest = input;
  while (true) {
    const std::string_view before = rest;
    const auto envelope = take_envelope(&rest);
    if (!envelope) {
      require(rest == before, "a part of an envelope is left alone");
      return;
    }
    std::string again;
    append_envelope(envelope->flags, envelope->data, &again);
    require(again == before.substr(0, before.size() - rest.size()), "an envelope is its bytes");
    std::string_view cut = std::string_view(again).substr(0, again.size() - 1);
    require(!take_envelope(&cut), "an envelope without its last byte is not whole");
    if ((envelope->flags & kCompressedFlag) != 0) check_gzip(envelope->data);
  }
}

/// The messages of an answer, which are followed by one frame of trailers.
void check_answer(const SettingsRouter& router, std::string_view body) {
  std::size_t messages = 0;
  auto frame = take_envelope(&body);
  while (frame && frame->flags == 0) {
    ++messages;
    frame = take_envelope(&body);
  }
  require(frame && frame->flags == kGrpcWebTrailersFlag, "an answer ends with trailers");
  require(body.empty(), "nothing follows the trailers");
  require(frame->data.starts_with("grpc-status: "), "trailers have a status");
  const bool good = frame->data.starts_with("grpc-status: 0\r\n");
  require(good == router.asked().has_value(), "an answer is good when the method was asked");
  require(messages == (good ? 1U : 0U), "a good answer has one message");
}

void check_call(SettingsRouter& router, std::string_view content_type, std::string_view input) {
  HttpRequest request;
  request.head.method = "POST";
  request.head.fields = {{"Content-Type", content_type}, {"Grpc-Encoding", "gzip"}};
  request.body = input;
  const HttpResponse response = router.answer(std::move(request));
  require(response.status == 200 && response.content_type == content_type,
          "gRPC-Web is answered in gRPC-Web");
  check_answer(router, response.body);
}

}  // namespace

void envelope(std::string_view input) {
  static SettingsRouter router(kMaxMessageBytes);
  check_envelopes(input);
  check_gzip(input);
  check_call(router, "application/grpc-web+proto", input);
  check_call(router, "application/grpc-web+json", input);
}

}  // namespace writ::fuzz
