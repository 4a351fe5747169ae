#include "service/connect.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "service/connect_call.h"
#include "service/listen_address.h"

namespace writ {

struct Router::Tables {
  std::map<std::string, PlainHandler, std::less<>> plain;
  std::map<std::string, RpcMethod, std::less<>> methods;  // by "/package.Service/Method"
  std::set<std::string, std::less<>> services;            // "/package.Service"
};

namespace {

// The path as routes are written: decoded once, but a `%2F` stays inside its segment. Nothing when it cannot be decoded.
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

bool is_allowed_origin(const RouterOptions& options, std::string_view origin) {
  return std::any_of(options.allowed_origins.begin(), options.allowed_origins.end(),
                     [&](const std::string& allowed) { return allowed == "*" || allowed == origin; });
}

// DNS rebinding and other people's pages (design: the anonymous run).
void check_local_page(const RouterOptions& options, const RequestHead& head) {
  if (!is_loopback_name(host_without_port(head.host))) {
    throw ConnectError(Code::kPermissionDenied,
                       "the Host is not a name of this machine; without authentication only local callers are served");
  }
  const auto origin = head.find("Origin");
  if (!origin || is_allowed_origin(options, *origin)) return;
  if (!equals_ignore_case(origin_authority(*origin), head.host)) {
    throw ConnectError(Code::kPermissionDenied,
                       "the Origin is not allowed; without authentication other pages may not call");
  }
}

void wrong_method(std::string allow, HttpResponse& response) {
  answer_error({Code::kUnimplemented, "this HTTP method is not allowed here"}, response);
  response.status = 405;
  response.set_header("Allow", std::move(allow));
}

void answer_plain(const Router::PlainHandler& handler, const HttpRequest& request,
                  HttpResponse& response) {
  if (request.head.method != "GET" && request.head.method != "HEAD") {
    return wrong_method("GET, HEAD", response);
  }
  handler(request, response);
  if (response.record.code.empty()) {
    response.record.code = response.status < 400 ? "ok" : std::to_string(response.status);
  }
}

void answer_call(const RpcMethod& method, const RouterOptions& options, const HttpRequest& request,
                 HttpResponse& response) {
  if (request.head.method != "POST") return wrong_method("POST", response);
  answer_unary_post(method, options, request, response);
}

}  // namespace

Router::Router(RouterOptions options)
    : options_(std::move(options)), tables_(std::make_unique<Tables>()) {}

Router::~Router() = default;

void Router::get(std::string path, PlainHandler handler) {
  tables_->plain.insert_or_assign(std::move(path), std::move(handler));
}

void Router::add_unary(const google::protobuf::MethodDescriptor* method,
                       const google::protobuf::Message& request,
                       const google::protobuf::Message& response, UnaryCall call) {
  if (method->input_type()->full_name() != request.GetTypeName() ||
      method->output_type()->full_name() != response.GetTypeName() || method->client_streaming() ||
      method->server_streaming()) {
    throw std::logic_error("the handler does not fit the method " + method->full_name());
  }
  RpcMethod entry;
  entry.descriptor = method;
  entry.request = &request;
  entry.unary = std::move(call);
  entry.route = "/" + method->service()->full_name() + "/" + method->name();
  entry.no_side_effects =
      method->options().idempotency_level() == google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
  tables_->services.insert("/" + method->service()->full_name());
  const std::string route = entry.route;
  tables_->methods.insert_or_assign(route, std::move(entry));
}

void Router::handle(const HttpRequest& request, HttpResponse& response) const {
  try {
    if (options_.only_local_pages) check_local_page(options_, request.head);
    const auto path = canonical_path(request.head.path);
    if (!path) throw ConnectError(Code::kInvalidArgument, "malformed path");
    if (const auto plain = tables_->plain.find(*path); plain != tables_->plain.end()) {
      response.record.route = plain->first;
      return answer_plain(plain->second, request, response);
    }
    if (const auto method = tables_->methods.find(*path); method != tables_->methods.end()) {
      response.record.route = method->second.route;
      return answer_call(method->second, options_, request, response);
    }
    if (const auto slash = path->rfind('/');
        slash > 0 && tables_->services.contains(path->substr(0, slash))) {
      throw ConnectError(Code::kUnimplemented, "the service has no such method");
    }
    answer_error({Code::kUnimplemented, "there is nothing at this path"}, response);
    response.status = 404;
  } catch (...) {
    answer_error(to_connect_error(std::current_exception(), request.request_id, options_), response);
  }
}

const google::protobuf::MethodDescriptor* find_method(const google::protobuf::Descriptor* message,
                                                      std::string_view service,
                                                      std::string_view name) {
  const auto* const found = message->file()->FindServiceByName(std::string(service));
  const auto* const method = found == nullptr ? nullptr : found->FindMethodByName(std::string(name));
  if (method == nullptr) {
    throw std::logic_error("no method " + std::string(service) + "." + std::string(name));
  }
  return method;
}

}  // namespace writ
