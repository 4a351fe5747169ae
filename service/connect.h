#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/caller.h"
#include "service/http_message.h"

namespace writ {

/// The Connect error codes. Their names on the wire and HTTP statuses are in service/README.md.
enum class Code {
  kCanceled,
  kUnknown,
  kInvalidArgument,
  kDeadlineExceeded,
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,
  kResourceExhausted,
  kFailedPrecondition,
  kAborted,
  kOutOfRange,
  kUnimplemented,
  kInternal,
  kUnavailable,
  kDataLoss,
  kUnauthenticated,
};

/// The name on the wire, e.g. "invalid_argument".
std::string_view code_name(Code code);
/// The HTTP status of a unary answer with this code.
int http_status(Code code);

/// Headers or trailers by name. Names of binary values end in "-bin"; their values are base64 text.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Thrown by a handler to answer with an error. `details` are sent as typed, base64 messages.
class ConnectError : public std::runtime_error {
 public:
  ConnectError(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }
  const std::vector<std::shared_ptr<const google::protobuf::Message>>& details() const {
    return details_;
  }
  ConnectError with_detail(std::shared_ptr<const google::protobuf::Message> detail) &&;

 private:
  Code code_;
  std::vector<std::shared_ptr<const google::protobuf::Message>> details_;
};

/// What a handler may say beside its message.
struct AnswerNotes {
  Metadata headers;      ///< In a stream: to be set before its first `send` or `alive`.
  Metadata trailers;     ///< Sent in the way of each protocol.
  std::string log_key;   ///< What the request was about, for the log; never a secret.
  std::string warnings;  ///< Names of JSON fields that were ignored; made by the layer.
};

/// What a handler knows of the request beside its message.
struct RequestContext {
  using Clock = std::chrono::steady_clock;

  Caller caller;                 ///< Who asks.
  std::string reason;            ///< `Writ-Reason`, "" when absent.
  bool reason_required = false;  ///< A change without a reason is to be refused.
  std::string request_id;        ///< `X-Request-Id`, echoed or made.
  std::string idempotency_key;   ///< `Idempotency-Key`, "" when absent.
  Clock::time_point deadline;    ///< When the caller stops waiting; a stream may have no end.

  const google::protobuf::MethodDescriptor* method = nullptr;
  /// The request itself; null in tests that make their own context.
  const HttpRequest* http = nullptr;
  /// Where to leave headers, trailers and the log key; may be null.
  AnswerNotes* notes = nullptr;

  /// Throws deadline_exceeded once the caller has stopped waiting.
  void check_deadline() const;
  /// Names a field of the request that was ignored, in a header of the answer.
  void warn_ignored(const std::string& field) const;
  /// Leaves the key for the log, when there is a log.
  void set_log_key(std::string key) const;
};

/// Throws ConnectError unless the caller may make this request.
using AccessCheck =
    std::function<void(const RequestContext&, const google::protobuf::Message& request)>;

/// Takes the one answer of a unary call.
using MessageSink = std::function<void(const google::protobuf::Message&)>;

/// A message for many streams: encoded once a codec, when the first of them wants it.
class SharedMessage {
 public:
  explicit SharedMessage(std::unique_ptr<const google::protobuf::Message> message)
      : message_(std::move(message)) {}
  const std::string& as_proto() const;
  const std::string& as_json() const;

 private:
  const std::unique_ptr<const google::protobuf::Message> message_;
  mutable std::once_flag proto_once_, json_once_;
  mutable std::string proto_, json_;
};

/// Takes the answers of a streaming call; `MessageStream` is its typed form.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual bool send(const SharedMessage& message) = 0;
  virtual bool send(const google::protobuf::Message& message) = 0;
  virtual bool alive() = 0;
};

/// The answers of a server-streaming call, as a handler sees them.
template <class Response>
class MessageStream {
 public:
  explicit MessageStream(StreamSink& sink) : sink_(sink) {}
  /// Sends a message at once. False when the handler should return: the client is gone or too slow,
  /// or the server stops. Throws deadline_exceeded once the caller has stopped waiting.
  [[nodiscard]] bool send(const Response& response) { return sink_.send(response); }
  /// The same with a Response that many streams send.
  [[nodiscard]] bool send(const SharedMessage& response) { return sink_.send(response); }
  /// Whether the handler should go on. Ask at least every few seconds between messages; a client
  /// that vanished without a word is noticed within 15 s.
  [[nodiscard]] bool alive() { return sink_.alive(); }

 private:
  StreamSink& sink_;
};

struct RouterOptions {
  std::size_t max_message_bytes = 4 * 1024 * 1024;  ///< Also after decompression.
  std::chrono::milliseconds request_time{
      30'000};  ///< A unary caller's deadline when it sends none.
  /// The anonymous default run on loopback: a Host that is no loopback name and a foreign Origin
  /// are refused, so that no web page can reach the server.
  std::function<bool()> only_local_pages = [] { return false; };
  /// Origins of web pages that may call, as `https://host:port`; "*" allows every one.
  std::vector<std::string> allowed_origins;

  /// Says who asks or throws ConnectError (unauthenticated). By default everybody is anonymous and
  /// may do everything. A stream asks again while it lasts.
  std::function<Caller(const HttpRequest&)> identify = [](const HttpRequest&) {
    return anonymous_caller();
  };
  /// The check of each method that is registered, made before its handler is called; may throw to
  /// refuse the method. Unset: there are no checks.
  std::function<AccessCheck(const google::protobuf::MethodDescriptor&)> access_to;
  bool require_reason = false;  ///< Tells handlers to refuse changes without a reason.
  /// Turns exceptions of lower layers into answers, e.g. storage unavailable into `unavailable`.
  /// What it does not know is answered `internal` with the request id only.
  std::function<std::optional<ConnectError>(std::exception_ptr)> translate;
  /// Told the text of exceptions that the client is not told.
  std::function<void(std::string_view request_id, std::string_view what)> log_failure;
};

/// Sends requests to plain GET routes and to the methods of protobuf services, in the Connect
/// protocol. Knows nothing of any service. Register everything, then serve: `handle` is safe from
/// many threads, registering is not.
class Router {
 public:
  using PlainHandler = std::function<void(const HttpRequest&, HttpResponse&)>;
  /// Also gets the path behind the prefix.
  using PathHandler = std::function<void(const HttpRequest&, std::string_view, HttpResponse&)>;
  /// The request lies on an arena, is of no use afterwards and may be changed.
  using UnaryCall = std::function<void(const RequestContext&, google::protobuf::Message& request,
                                       const MessageSink& answer)>;
  using StreamCall = std::function<void(const RequestContext&,
                                        const google::protobuf::Message& request, StreamSink& out)>;

  explicit Router(RouterOptions options);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// `GET` (and HEAD) of exactly this path, e.g. "/healthz".
  void get(std::string path, PlainHandler handler);

  /// `GET` (and HEAD) of every path that begins with this prefix and is no route of its own. The
  /// prefix ends with a slash and stands for them all in the log and the metrics.
  void get_below(std::string prefix, PathHandler handler);

  /// Serves a unary method: `Response handler(const RequestContext&, const Request&)`. The handler
  /// may throw ConnectError. Throws std::logic_error when the types are not those of the method.
  template <class Request, class Response>
  void unary(const google::protobuf::MethodDescriptor* method,
             std::function<Response(const RequestContext&, const Request&)> handler) {
    add_unary(method, Request::default_instance(), Response::default_instance(),
              [handler = std::move(handler)](const RequestContext& context,
                                             google::protobuf::Message& request,
                                             const MessageSink& answer) {
                answer(handler(context, static_cast<const Request&>(request)));
              });
  }

  /// The same for large messages: `void handler(const RequestContext&, Request&, Response*)` fills
  /// an answer that lies on the request's arena, and may move parts of the request into it.
  template <class Request, class Response>
  void unary_in_place(const google::protobuf::MethodDescriptor* method,
                      std::function<void(const RequestContext&, Request&, Response*)> handler) {
    add_unary(method, Request::default_instance(), Response::default_instance(),
              [handler = std::move(handler)](const RequestContext& context,
                                             google::protobuf::Message& request,
                                             const MessageSink& answer) {
                auto* const response =
                    google::protobuf::Arena::CreateMessage<Response>(request.GetArena());
                handler(context, static_cast<Request&>(request), response);
                answer(*response);
              });
  }

  /// Serves a server-streaming method: `void handler(const RequestContext&, const Request&,
  /// MessageStream<Response>&)`. The stream ends when the handler returns, or with the ConnectError
  /// it throws.
  template <class Request, class Response>
  void server_stream(
      const google::protobuf::MethodDescriptor* method,
      std::function<void(const RequestContext&, const Request&, MessageStream<Response>&)>
          handler) {
    add_stream(
        method, Request::default_instance(), Response::default_instance(),
        [handler = std::move(handler)](const RequestContext& context,
                                       const google::protobuf::Message& request, StreamSink& out) {
          MessageStream<Response> stream(out);
          handler(context, static_cast<const Request&>(request), stream);
        });
  }

  /// A serialised google.protobuf.FileDescriptorSet of every registered service, imports first.
  std::string file_descriptor_set() const;

  /// Answers one request; an HttpHandler for HttpServer.
  void handle(const HttpRequest& request, HttpResponse& response) const;

 private:
  struct Tables;

  void add_stream(const google::protobuf::MethodDescriptor* method,
                  const google::protobuf::Message& request,
                  const google::protobuf::Message& response, StreamCall call);

  void add_unary(const google::protobuf::MethodDescriptor* method,
                 const google::protobuf::Message& request,
                 const google::protobuf::Message& response, UnaryCall call);

  RouterOptions options_;
  std::unique_ptr<Tables> tables_;
};

/// The method `name` of the service `service` in the file that declares `Message`. Throws
/// std::logic_error when there is none.
const google::protobuf::MethodDescriptor* find_method(const google::protobuf::Descriptor* message,
                                                      std::string_view service,
                                                      std::string_view name);

}  // namespace writ
