#include "service/cors.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace writ {
namespace {

constexpr const char* kRequestHeaders =
    "Accept-Encoding, Authorization, Connect-Accept-Encoding, Connect-Content-Encoding, "
    "Connect-Protocol-Version, Connect-Timeout-Ms, Content-Encoding, Content-Type, "
    "Grpc-Accept-Encoding, "
    "Grpc-Encoding, Grpc-Timeout, Idempotency-Key, Writ-Reason, X-Grpc-Web, X-Request-Id, "
    "X-User-Agent";
constexpr const char* kMaxAgeSeconds = "7200";
// The star covers what handlers add, in browsers that know it.
constexpr const char* kAnswerHeaders =
    "Connect-Content-Encoding, Content-Encoding, Grpc-Encoding, Grpc-Message, Grpc-Status, "
    "Grpc-Status-Details-Bin, Retry-After, Warning, X-Request-Id, *";

// A name or an IPv4 address, or an IPv6 address in brackets.
bool is_origin_host(std::string_view host) {
  const bool v6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (v6) host = host.substr(1, host.size() - 2);
  const std::string_view others = v6 ? ":." : "-._";
  return !host.empty() && std::all_of(host.begin(), host.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= (v6 ? 'f' : 'z')) ||
           others.find(c) != others.npos;
  });
}

// As a browser writes it: 1 to 65535 without zeros in front, and not the scheme's own.
bool is_origin_port(std::string_view port, std::string_view own) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc() && end == port.data() + port.size() && port.front() != '0' &&
         port != own;
}

}  // namespace

bool is_origin(std::string_view text) {
  const bool secure = text.starts_with("https://");
  if (!secure && !text.starts_with("http://")) return false;
  const std::string_view authority = text.substr(text.find("//") + 2);
  const std::size_t bracket = std::min(authority.find(']'), authority.size());
  const std::size_t colon =
      std::min(authority.find(':', bracket == authority.size() ? 0 : bracket), authority.size());
  if (!is_origin_host(authority.substr(0, colon))) return false;
  return colon == authority.size() ||
         is_origin_port(authority.substr(colon + 1), secure ? "443" : "80");
}

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
