#pragma once

#include <google/protobuf/message.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "service/connect.h"

namespace writ {

// What the protocols of the Connect layer have in common. Functions that read what a client sent
// throw ConnectError when it is wrong.

/// How messages are written.
enum class Codec { kProto, kJson };

/// A method with its handler.
struct RpcMethod {
  const google::protobuf::MethodDescriptor* descriptor = nullptr;
  const google::protobuf::Message* request = nullptr;  ///< The default instance.
  Router::UnaryCall unary;                             ///< One of the two is set.
  Router::StreamCall stream;
  std::string route;             ///< "/package.Service/Method".
  bool no_side_effects = false;  ///< May be called with GET.
};

/// A media type cut in two, in lower case: "application/json" and "charset=utf-8".
struct MediaType {
  std::string type;
  std::string parameters;
};
MediaType parse_media_type(std::string_view text);

/// The protocols, told apart by the content type.
enum class Protocol { kConnectUnary, kConnectStream, kGrpcWeb, kGrpc };

/// How a request is written, and its answer will be.
struct Wire {
  Protocol protocol = Protocol::kConnectUnary;
  Codec codec = Codec::kProto;
  bool text = false;         ///< gRPC-Web in base64.
  std::string content_type;  ///< Of the answer.
};
/// Nothing for a content type nobody here speaks.
std::optional<Wire> parse_wire(std::string_view content_type);

/// Decodes a request message. Names the JSON fields it ignored in `notes->warnings`.
void decode_message(Codec codec, std::string_view bytes, google::protobuf::Message* message,
                    AnswerNotes* notes);

/// Encodes an answer; the same message gives the same bytes.
std::string encode_message(Codec codec, const google::protobuf::Message& message);

/// Whether `encoding` (a content coding) compresses: false for "" and "identity", true for "gzip";
/// throws `unimplemented` for others.
bool is_gzip(std::string_view encoding);

/// The bytes of a request's message, inflated, and the memory that the server's budget gives for
/// them and for what is parsed from them.
class MessageBytes {
 public:
  /// Inflates `bytes` when they are gzip. Waits for memory, but not beyond the deadline of the
  /// context. `bytes` must outlive this. Throws when they are too large or damaged, or when there
  /// is no memory.
  MessageBytes(std::string_view bytes, bool gzip, const RequestContext& context,
               const RouterOptions& options);
  /// After what was parsed is gone.
  ~MessageBytes();
  MessageBytes(const MessageBytes&) = delete;
  MessageBytes& operator=(const MessageBytes&) = delete;

  std::string_view get() const { return bytes_; }
  /// Gives memory back: parsing has taken this much.
  void parsed(std::size_t memory);

 private:
  void take_memory(std::size_t size, const RequestContext& context, const RouterOptions& options);

  MemoryBudget::Share memory_;  // first: given back last
  std::string inflated_;
  std::string_view bytes_;
  bool trim_ = false;
};

/// Whether gzip is among the codings of an Accept-Encoding list.
bool accepts_gzip(std::string_view list);

/// Whether compressing an answer of this size pays.
bool worth_compressing(std::size_t size);

/// Reads `Connect-Timeout-Ms`: at most 10 digits. Nothing when absent.
std::optional<std::chrono::milliseconds> parse_connect_timeout(
    std::optional<std::string_view> text);

/// Checks `Connect-Protocol-Version`, which must be 1 when sent.
void check_connect_version(const RequestHead& head);

/// Fills the context from the headers. `timeout` is the caller's own; the deadline is never later
/// than the options allow for a unary call.
RequestContext make_context(const HttpRequest& request, const RpcMethod& method,
                            const RouterOptions& options,
                            std::optional<std::chrono::milliseconds> timeout, AnswerNotes* notes);

/// What to tell the client about an exception: itself, its translation, or `internal` with the
/// request id, the text then going to the log only.
ConnectError to_connect_error(std::exception_ptr exception, std::string_view request_id,
                              const RouterOptions& options);

/// Base64 text as the protocols want it.
std::string without_padding(std::string base64);

/// The JSON object of an error: code, message, details.
std::string error_json(const ConnectError& error);

/// Makes `response` a JSON error with the HTTP status of the code.
void answer_error(const ConnectError& error, HttpResponse& response);

/// Makes `response` an error in the form the caller's protocol has for it; JSON when there is no
/// protocol.
void answer_error_as(const std::optional<Wire>& wire, const ConnectError& error,
                     HttpResponse& response);

/// The error for a body over the limit.
ConnectError too_large(std::size_t limit);

/// Throws when the body was not taken in.
void check_body_is_here(const HttpRequest& request, std::size_t limit, AnswerNotes* notes);

/// A value for the `Warning` header, from `notes.warnings`; "" when there is none.
std::string warning_header(const AnswerNotes& notes);

/// Connect unary (connect_unary.cc).
void answer_unary_post(const RpcMethod& method, const RouterOptions& options, const Wire& wire,
                       const HttpRequest& request, HttpResponse& response);
void answer_unary_get(const RpcMethod& method, const RouterOptions& options,
                      const HttpRequest& request, HttpResponse& response);

/// Connect streaming, and gRPC-Web of both kinds (connect_stream.cc).
void answer_enveloped(const RpcMethod& method, const RouterOptions& options, const Wire& wire,
                      const HttpRequest& request, HttpResponse& response);

}  // namespace writ
