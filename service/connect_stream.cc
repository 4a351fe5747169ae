#include <google/protobuf/arena.h>

#include <memory>

#include "schema/base64.h"
#include "service/connect_call.h"
#include "service/envelope.h"
#include "service/grpc_web.h"
#include "service/gzip.h"
#include "service/json_text.h"

namespace writ {
namespace {

// The last envelope of a Connect stream.
std::string connect_end(const std::optional<ConnectError>& error, const Metadata& trailers) {
  std::string out = "{";
  if (error) out.append("\"error\":").append(error_json(*error));
  // Values of one name are one list, wherever they are.
  std::map<std::string, std::vector<std::string_view>> by_name;
  for (const auto& [name, value] : trailers) by_name[name].push_back(value);
  if (!by_name.empty()) out.append(error ? ",\"metadata\":" : "\"metadata\":");
  for (auto name = by_name.begin(); name != by_name.end(); ++name) {
    out.push_back(name == by_name.begin() ? '{' : ',');
    append_json_string(name->first, &out);
    for (std::size_t i = 0; i < name->second.size(); ++i) {
      out.append(i == 0 ? ":[" : ",");
      append_json_string(name->second[i], &out);
    }
    out.push_back(']');
  }
  if (!by_name.empty()) out.push_back('}');
  return out.append("}");
}

std::string end_frame(const Wire& wire, const std::optional<ConnectError>& error,
                      const Metadata& trailers) {
  std::string frame;
  if (wire.protocol == Protocol::kConnectStream) {
    append_envelope(kConnectEndFlag, connect_end(error, trailers), &frame);
  } else {
    append_envelope(kGrpcWebTrailersFlag, grpc_web_trailers(error, trailers), &frame);
  }
  return wire.text ? encode_base64(frame) : frame;
}

std::string_view header_for(const Wire& wire, std::string_view connect, std::string_view grpc) {
  return wire.protocol == Protocol::kConnectStream ? connect : grpc;
}

// Frames the messages of one answer. Sends them one by one when the method streams, else keeps them
// for the body.
class EnvelopedAnswer : public StreamSink {
 public:
  EnvelopedAnswer(const Wire& wire, bool streams, const HttpRequest& request,
                  HttpResponse& response)
      : wire_(wire), streams_(streams), request_(request), response_(response) {
    const auto accepted = header_for(wire, "Connect-Accept-Encoding", "Grpc-Accept-Encoding");
    compress_ = accepts_gzip(request.head.field(accepted));
  }

  AnswerNotes* notes() { return &notes_; }
  void set_deadline(RequestContext::Clock::time_point deadline) { deadline_ = deadline; }

  bool send(const google::protobuf::Message& message) override {
    return send_encoded(encode_message(wire_.codec, message));
  }

  bool send(const SharedMessage& message) override {
    return send_encoded(wire_.codec == Codec::kJson ? message.as_json() : message.as_proto());
  }

  bool send_encoded(std::string data) {
    check_deadline();
    std::uint8_t flags = 0;
    if (compress_ && worth_compressing(data.size())) {
      data = gzip(data);
      flags = kCompressedFlag;
    }
    std::string frame;
    append_envelope(flags, data, &frame);
    if (!put(wire_.text ? encode_base64(frame) : frame, streams_)) return false;
    return going_on();
  }

  bool alive() override {
    if (RequestContext::Clock::now() >= deadline_) return false;
    if (writer_ == nullptr) open();
    return writer_->peer_open() && going_on();
  }

  // Ends the answer, well or with the error.
  void finish(std::optional<ConnectError> error) {
    if (!error && told_to_stop_) {
      error = ConnectError(Code::kUnavailable, "the server is stopping; ask again");
    } else if (!error && RequestContext::Clock::now() >= deadline_) {
      error = ConnectError(Code::kDeadlineExceeded, "the deadline has passed");
    }
    response_.record.code = error ? code_name(error->code()) : "ok";
    response_.record.key = notes_.log_key;
    put(end_frame(wire_, error, notes_.trailers), writer_ != nullptr);
    if (writer_ == nullptr) set_head();
  }

 private:
  void check_deadline() const {
    if (RequestContext::Clock::now() >= deadline_) {
      throw ConnectError(Code::kDeadlineExceeded, "the deadline has passed");
    }
  }

  bool going_on() {
    if (writer_ != nullptr && writer_->stopping()) told_to_stop_ = true;
    return !told_to_stop_;
  }

  bool put(const std::string& frame, bool at_once) {
    if (!at_once) {
      response_.body.append(frame);
      return true;
    }
    if (writer_ == nullptr) open();
    return writer_->write(frame);
  }

  void open() {
    set_head();
    writer_ = &request_.gate->open(response_);
  }

  void set_head() {
    response_.status = 200;
    response_.content_type = wire_.content_type;
    for (const auto& [name, value] : notes_.headers) response_.set_header(name, value);
    std::string warning = warning_header(notes_);
    if (!warning.empty()) response_.set_header("Warning", std::move(warning));
    if (compress_) {
      response_.set_header(
          std::string(header_for(wire_, "Connect-Content-Encoding", "Grpc-Encoding")), "gzip");
    }
  }

  const Wire& wire_;
  const bool streams_;
  const HttpRequest& request_;
  HttpResponse& response_;
  AnswerNotes notes_;
  bool compress_ = false;
  bool told_to_stop_ = false;
  StreamWriter* writer_ = nullptr;
  RequestContext::Clock::time_point deadline_ = RequestContext::Clock::time_point::max();
};

// The one envelope of the request. `text` keeps what it points to, where the body is base64.
Envelope read_envelope(const Wire& wire, std::string_view body, std::string* text) {
  if (wire.text) {
    auto binary = decode_grpc_web_text(body);
    if (!binary) throw ConnectError(Code::kInvalidArgument, "the body is not base64");
    *text = std::move(*binary);
    body = *text;
  }
  if (body.empty())
    throw ConnectError(Code::kUnimplemented, "the request has no message; it must have one");
  const auto envelope = take_envelope(&body);
  if (!envelope || (envelope->flags & ~kCompressedFlag) != 0) {
    throw ConnectError(Code::kInvalidArgument, "the body is not an enveloped message");
  }
  if (!body.empty()) {
    throw ConnectError(Code::kUnimplemented, "the request has more than one message");
  }
  return *envelope;
}

// Whether the message is gzip.
bool is_compressed(const Wire& wire, const HttpRequest& request, const Envelope& envelope) {
  const bool gzip =
      is_gzip(request.head.field(header_for(wire, "Connect-Content-Encoding", "Grpc-Encoding")));
  if ((envelope.flags & kCompressedFlag) == 0) return false;
  if (!gzip) {
    throw ConnectError(Code::kInternal, "the message is compressed, but no header says how");
  }
  return true;
}

void call(const RpcMethod& method, const RouterOptions& options, const Wire& wire,
          const HttpRequest& request, HttpResponse& response, EnvelopedAnswer& out) {
  const bool connect = wire.protocol == Protocol::kConnectStream;
  if (connect) check_connect_version(request.head);
  const auto timeout = connect ? parse_connect_timeout(request.head.find("Connect-Timeout-Ms"))
                               : parse_grpc_timeout(request.head.find("Grpc-Timeout"));
  const RequestContext context = make_context(request, method, options, timeout, out.notes());
  response.record.actor = context.caller.name;
  check_body_is_here(request, options.max_message_bytes, out.notes());
  std::string text;
  const Envelope envelope = read_envelope(wire, request.body, &text);
  MessageBytes bytes(envelope.data, is_compressed(wire, request, envelope), context, options);
  google::protobuf::Arena arena;
  google::protobuf::Message* const message = method.request->New(&arena);
  decode_message(wire.codec, bytes.get(), message, out.notes());
  bytes.parsed(arena.SpaceAllocated());
  context.check_deadline();
  if (method.unary) {
    method.unary(context, *message, [&](const google::protobuf::Message& answer) {
      if (method.no_side_effects) context.check_deadline();
      out.send(answer);
    });
    return;
  }
  if (request.gate == nullptr || !request.gate->reserve()) {
    throw ConnectError(Code::kResourceExhausted, "too many streams are open; try again later");
  }
  out.set_deadline(context.deadline);
  method.stream(context, *message, out);
}

}  // namespace

void answer_error_as(const std::optional<Wire>& wire, const ConnectError& error,
                     HttpResponse& response) {
  if (!wire ||
      (wire->protocol != Protocol::kConnectStream && wire->protocol != Protocol::kGrpcWeb)) {
    return answer_error(error, response);
  }
  response.status = 200;
  response.content_type = wire->content_type;
  response.body = end_frame(*wire, error, {});
  response.record.code = code_name(error.code());
}

void answer_enveloped(const RpcMethod& method, const RouterOptions& options, const Wire& wire,
                      const HttpRequest& request, HttpResponse& response) {
  EnvelopedAnswer out(wire, method.stream != nullptr, request, response);
  std::optional<ConnectError> error;
  try {
    call(method, options, wire, request, response, out);
  } catch (...) {
    error = to_connect_error(std::current_exception(), request.request_id, options);
  }
  out.finish(std::move(error));
}

}  // namespace writ
