#include "service/connect.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "service/connect_call.h"
#include "service/cors.h"
#include "service/listen_address.h"

namespace writ {

struct Router::Tables {
  std::map<std::string, PlainHandler, std::less<>> plain;
  std::map<std::string, PathHandler, std::less<>> below;  // by a prefix with its last slash
  std::map<std::string, RpcMethod, std::less<>> methods;  // by "/package.Service/Method"
  std::set<std::string, std::less<>> services;            // "/package.Service"

  void add(RpcMethod method) {
    services.insert("/" + method.descriptor->service()->full_name());
    const std::string route = method.route;
    methods.insert_or_assign(route, std::move(method));
  }
};

namespace {

// The path as routes are written: decoded once, but a `%2F` stays inside its segment. Nothing when
// it cannot be decoded.
std::optional<std::string> canonical_path(std::string_view raw) {
  if (raw.find('%') == std::string_view::npos) return std::string(raw);
  const auto segments = decode_path(raw);
  if (!segments) return std::nullopt;
  std::string path;
  for (const std::string& segment : *segments) {
    path.push_back('/');
    for (const char c : segment) {
      if (c == '/') {
        path.append("%2F");
      } else {
        path.push_back(c);
      }
    }
  }
  return path;
}

// The authority of an http or https origin, "" for any other.
std::string_view origin_authority(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.substr(0, scheme.size()) == scheme) return origin.substr(scheme.size());
  }
  return {};
}

// DNS rebinding and other people's pages (design: the anonymous run).
void check_local_page(const RouterOptions& options, const RequestHead& head) {
  if (!is_loopback_name(host_without_port(head.host))) {
    throw ConnectError(Code::kPermissionDenied,
                       "the Host is not a name of this machine; without authentication only local "
                       "callers are served");
  }
  const auto origin = head.find("Origin");
  if (!origin || is_allowed_origin(options.allowed_origins, *origin)) return;
  if (!equals_ignore_case(origin_authority(*origin), head.host)) {
    throw ConnectError(
        Code::kPermissionDenied,
        "the Origin is not allowed; without authentication other pages may not call");
  }
}

// What is wrong with the HTTP of a request is said in HTTP: a Connect client makes its code from
// the status.
void answer_http(int status, const std::string& message, HttpResponse& response) {
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = message + "\n";
  response.record.code = std::to_string(status);
}

void wrong_method(const std::string& allow, HttpResponse& response) {
  answer_http(405, "this HTTP method is not allowed here", response);
  response.set_header("Allow", allow);
}

void answer_plain(const Router::PlainHandler& handler, const RouterOptions& options,
                  const HttpRequest& request, HttpResponse& response) {
  constexpr const char* kMethods = "GET, HEAD, OPTIONS";
  if (request.head.method == "OPTIONS") {
    return answer_options(options.allowed_origins, kMethods, request, response);
  }
  if (request.head.method != "GET" && request.head.method != "HEAD") {
    return wrong_method(kMethods, response);
  }
  handler(request, response);
  if (response.record.code.empty()) {
    response.record.code = response.status < 400 ? "ok" : std::to_string(response.status);
  }
}

void unsupported_type(const RpcMethod& method, bool grpc, HttpResponse& response) {
  answer_http(
      415, grpc ? "gRPC needs HTTP/2; speak Connect or gRPC-Web here" : "unsupported content type",
      response);
  const std::string own = method.stream ? "application/connect+json, application/connect+proto"
                                        : "application/json, application/proto";
  response.set_header(
      "Accept-Post",
      own +
          ", application/grpc-web, application/grpc-web+json, application/grpc-web+proto, "
          "application/grpc-web-text, application/grpc-web-text+proto");
}

void answer_post(const RpcMethod& method, const RouterOptions& options, const HttpRequest& request,
                 HttpResponse& response) {
  const auto wire = parse_wire(request.head.field("Content-Type"));
  if (!wire) return unsupported_type(method, false, response);
  switch (wire->protocol) {
    case Protocol::kConnectUnary:
      if (method.stream) break;
      return answer_unary_post(method, options, *wire, request, response);
    case Protocol::kConnectStream:
      if (!method.stream) break;
      return answer_enveloped(method, options, *wire, request, response);
    case Protocol::kGrpcWeb:
      return answer_enveloped(method, options, *wire, request, response);
    case Protocol::kGrpc:
      return unsupported_type(method, true, response);
  }
  unsupported_type(method, false, response);
}

void answer_call(const RpcMethod& method, const RouterOptions& options, const HttpRequest& request,
                 HttpResponse& response) {
  const bool may_get = method.no_side_effects && method.unary;
  const std::string methods = may_get ? "GET, OPTIONS, POST" : "OPTIONS, POST";
  if (request.head.method == "POST") {
    answer_post(method, options, request, response);
  } else if (may_get && (request.head.method == "GET" || request.head.method == "HEAD")) {
    answer_unary_get(method, options, request, response);
  } else if (request.head.method == "OPTIONS") {
    answer_options(options.allowed_origins, methods, request, response);
  } else {
    wrong_method(methods, response);
  }
}

RpcMethod make_method(const google::protobuf::MethodDescriptor* method,
                      const google::protobuf::Message& request,
                      const google::protobuf::Message& response, bool streams) {
  if (method->input_type()->full_name() != request.GetTypeName() ||
      method->output_type()->full_name() != response.GetTypeName() || method->client_streaming() ||
      method->server_streaming() != streams) {
    throw std::logic_error("the handler does not fit the method " + method->full_name());
  }
  RpcMethod entry;
  entry.descriptor = method;
  entry.request = &request;
  entry.route = "/" + method->service()->full_name() + "/" + method->name();
  entry.no_side_effects =
      method->options().idempotency_level() == google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
  return entry;
}

void add_file(const google::protobuf::FileDescriptor* file,
              std::set<const google::protobuf::FileDescriptor*>* seen,
              google::protobuf::FileDescriptorSet* set) {
  if (!seen->insert(file).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) add_file(file->dependency(i), seen, set);
  file->CopyTo(set->add_file());
}

}  // namespace

Router::Router(RouterOptions options)
    : options_(std::move(options)), tables_(std::make_unique<Tables>()) {}

Router::~Router() = default;

void Router::get(std::string path, PlainHandler handler) {
  tables_->plain.insert_or_assign(std::move(path), std::move(handler));
}

void Router::get_below(std::string prefix, PathHandler handler) {
  tables_->below.insert_or_assign(std::move(prefix), std::move(handler));
}

namespace {

constexpr std::chrono::seconds kAskAgain{1};

// A stream that ends when its caller may no longer have it: a token that expired or was revoked.
class CheckedSink : public StreamSink {
 public:
  CheckedSink(StreamSink& out, std::function<void()> check) : out_(out), check_(std::move(check)) {}

  bool send(const SharedMessage& message) override {
    check();
    return out_.send(message);
  }
  bool send(const google::protobuf::Message& message) override {
    check();
    return out_.send(message);
  }
  bool alive() override {
    check();
    return out_.alive();
  }

 private:
  void check() {
    const auto now = RequestContext::Clock::now();
    if (now < next_) return;
    check_();
    next_ = now + kAskAgain;
  }

  StreamSink& out_;
  const std::function<void()> check_;
  RequestContext::Clock::time_point next_ = RequestContext::Clock::now() + kAskAgain;
};

}  // namespace

void Router::add_unary(const google::protobuf::MethodDescriptor* method,
                       const google::protobuf::Message& request,
                       const google::protobuf::Message& response, UnaryCall call) {
  RpcMethod entry = make_method(method, request, response, false);
  entry.unary = std::move(call);
  if (options_.access_to) {
    entry.unary = [check = options_.access_to(*method), call = std::move(entry.unary)](
                      const RequestContext& context, google::protobuf::Message& message,
                      const MessageSink& answer) {
      check(context, message);
      call(context, message, answer);
    };
  }
  tables_->add(std::move(entry));
}

void Router::add_stream(const google::protobuf::MethodDescriptor* method,
                        const google::protobuf::Message& request,
                        const google::protobuf::Message& response, StreamCall call) {
  RpcMethod entry = make_method(method, request, response, true);
  entry.stream = std::move(call);
  if (options_.access_to) {
    entry.stream = [this, check = options_.access_to(*method), call = std::move(entry.stream)](
                       const RequestContext& context, const google::protobuf::Message& message,
                       StreamSink& out) {
      check(context, message);
      CheckedSink checked(out, [&] {
        RequestContext now = context;
        now.caller = options_.identify(*context.http);
        check(now, message);
      });
      call(context, message, checked);
    };
  }
  tables_->add(std::move(entry));
}

void Router::handle(const HttpRequest& request, HttpResponse& response) const {
  try {
    if (options_.only_local_pages()) check_local_page(options_, request.head);
    expose_to_page(options_.allowed_origins, request, response);
    const auto path = canonical_path(request.head.path);
    if (!path) throw ConnectError(Code::kInvalidArgument, "malformed path");
    if (const auto plain = tables_->plain.find(*path); plain != tables_->plain.end()) {
      response.record.route = plain->first;
      return answer_plain(plain->second, options_, request, response);
    }
    if (const auto method = tables_->methods.find(*path); method != tables_->methods.end()) {
      response.record.route = method->second.route;
      return answer_call(method->second, options_, request, response);
    }
    for (const auto& [prefix, handler] : tables_->below) {
      if (!path->starts_with(prefix)) continue;
      response.record.route = prefix;
      const auto rest = std::string_view(*path).substr(prefix.size());
      return answer_plain(
          [&, &call = handler](const HttpRequest& in, HttpResponse& out) { call(in, rest, out); },
          options_, request, response);
    }
    const std::size_t slash = path->rfind('/');
    if (slash != 0 && slash != path->npos && tables_->services.contains(path->substr(0, slash))) {
      throw ConnectError(Code::kUnimplemented, "the service has no such method");
    }
    if (*path == "*") {
      return answer_options(options_.allowed_origins, "GET, HEAD, OPTIONS, POST", request,
                            response);
    }
    answer_http(404, "there is nothing at this path", response);
  } catch (...) {
    answer_error_as(parse_wire(request.head.field("Content-Type")),
                    to_connect_error(std::current_exception(), request.request_id, options_),
                    response);
  }
}

std::string Router::file_descriptor_set() const {
  google::protobuf::FileDescriptorSet set;
  std::set<const google::protobuf::FileDescriptor*> seen;
  for (const auto& [path, method] : tables_->methods) {
    add_file(method.descriptor->file(), &seen, &set);
  }
  return set.SerializeAsString();
}

const google::protobuf::MethodDescriptor* find_method(const google::protobuf::Descriptor* message,
                                                      std::string_view service,
                                                      std::string_view name) {
  const auto* const found = message->file()->FindServiceByName(std::string(service));
  const auto* const method =
      found == nullptr ? nullptr : found->FindMethodByName(std::string(name));
  if (method == nullptr) {
    throw std::logic_error("no method " + std::string(service) + "." + std::string(name));
  }
  return method;
}

}  // namespace writ
