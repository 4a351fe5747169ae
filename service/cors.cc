#include "service/cors.h"

#include <algorithm>

namespace writ {
namespace {

constexpr const char* kRequestHeaders =
    "Accept-Encoding, Authorization, Connect-Accept-Encoding, Connect-Content-Encoding, "
    "Connect-Protocol-Version, Connect-Timeout-Ms, Content-Encoding, Content-Type, "
    "Grpc-Accept-Encoding, "
    "Grpc-Encoding, Grpc-Timeout, Idempotency-Key, Writ-Reason, X-Grpc-Web, X-Request-Id, "
    "X-User-Agent, "
    "X-Writ-Actor";
constexpr const char* kMaxAgeSeconds = "7200";
// The star covers what handlers add, in browsers that know it.
constexpr const char* kAnswerHeaders =
    "Connect-Content-Encoding, Content-Encoding, Grpc-Encoding, Grpc-Message, Grpc-Status, "
    "Grpc-Status-Details-Bin, Retry-After, Warning, X-Request-Id, *";

}  // namespace

bool is_allowed_origin(const std::vector<std::string>& allowed, std::string_view origin) {
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& entry) { return entry == "*" || entry == origin; });
}

void answer_options(const std::vector<std::string>& allowed, std::string_view methods,
                    const HttpRequest& request, HttpResponse& response) {
  response.set_header("Allow", std::string(methods));
  response.record.code = "ok";
  const auto origin = request.head.find("Origin");
  if (!origin || !request.head.find("Access-Control-Request-Method") ||
      !is_allowed_origin(allowed, *origin)) {
    return;
  }
  response.set_header("Access-Control-Allow-Methods", std::string(methods));
  response.set_header("Access-Control-Allow-Headers", kRequestHeaders);
  response.set_header("Access-Control-Max-Age", kMaxAgeSeconds);
}

void expose_to_page(const std::vector<std::string>& allowed, const HttpRequest& request,
                    HttpResponse& response) {
  if (allowed.empty()) return;
  response.set_header("Vary", "Origin");
  const auto origin = request.head.find("Origin");
  if (!origin || !is_allowed_origin(allowed, *origin)) return;
  response.set_header("Access-Control-Allow-Origin", std::string(*origin));
  response.set_header("Access-Control-Expose-Headers", kAnswerHeaders);
}

}  // namespace writ
