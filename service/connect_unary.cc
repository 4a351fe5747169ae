#include <memory>

#include "service/connect_call.h"
#include "service/gzip.h"

namespace writ {
namespace {

// The codec of a unary content type; nothing for any other.
std::optional<Codec> unary_codec(const RequestHead& head) {
  const MediaType media = parse_media_type(head.field("Content-Type"));
  if (media.type == "application/proto" && media.parameters.empty()) return Codec::kProto;
  if (media.type == "application/json" &&
      (media.parameters.empty() || media.parameters == "charset=utf-8" ||
       media.parameters == "charset=\"utf-8\"")) {
    return Codec::kJson;
  }
  return std::nullopt;
}

void set_notes(const AnswerNotes& notes, HttpResponse& response) {
  for (const auto& [name, value] : notes.headers) response.set_header(name, value);
  for (const auto& [name, value] : notes.trailers) response.set_header("Trailer-" + name, value);
  std::string warning = warning_header(notes);
  if (!warning.empty()) response.set_header("Warning", std::move(warning));
  response.record.key = notes.log_key;
}

void set_message(Codec codec, const google::protobuf::Message& message, bool compress,
                 HttpResponse& response) {
  response.status = 200;
  response.content_type = codec == Codec::kJson ? "application/json" : "application/proto";
  response.body = encode_message(codec, message);
  if (compress && worth_compressing(response.body.size())) {
    response.body = gzip(response.body);
    response.set_header("Content-Encoding", "gzip");
  }
}

void call_unary(const RpcMethod& method, const RouterOptions& options, Codec codec,
                const HttpRequest& request, AnswerNotes* notes, HttpResponse& response) {
  check_connect_version(request.head);
  const auto timeout = parse_connect_timeout(request.head.find("Connect-Timeout-Ms"));
  const RequestContext context = make_context(request, method, options, timeout, notes);
  response.record.actor = context.actor;
  if (request.body_too_large) throw too_large(options.max_message_bytes);

  std::string inflated;
  std::string_view body = request.body;
  if (is_gzip(request.head.field("Content-Encoding"))) {
    inflated = inflate_message(body, options.max_message_bytes);
    body = inflated;
  }
  const std::unique_ptr<google::protobuf::Message> message(method.request->New());
  decode_message(codec, body, message.get(), notes);
  context.check_deadline();
  const bool compress = accepts_gzip(request.head.field("Accept-Encoding"));
  method.unary(context, *message, [&](const google::protobuf::Message& answer) {
    // A late read is no use to a caller that has given up; a write happened, and saying so is the truth.
    if (method.no_side_effects) context.check_deadline();
    set_message(codec, answer, compress, response);
  });
  response.record.code = "ok";
}

}  // namespace

void answer_unary_post(const RpcMethod& method, const RouterOptions& options, const HttpRequest& request,
                       HttpResponse& response) {
  const std::optional<Codec> codec = unary_codec(request.head);
  if (!codec) {
    answer_error({Code::kUnimplemented, "unsupported content type"}, response);
    response.status = 415;
    response.set_header("Accept-Post", "application/json, application/proto");
    return;
  }
  AnswerNotes notes;
  try {
    call_unary(method, options, *codec, request, &notes, response);
  } catch (...) {
    answer_error(to_connect_error(std::current_exception(), request.request_id, options), response);
  }
  set_notes(notes, response);
}

}  // namespace writ
