#pragma once

#include "service/connect.h"
#include "service/http_server.h"

namespace writ::test {

inline constexpr const char* kEcho = "/writ.reference.ReferenceService/Echo";
inline constexpr const char* kCount = "/writ.reference.ReferenceService/Count";

/// Thrown by `Fail` for code 100: an exception the router was told how to translate.
class TranslatedFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Code numbers of FailRequest beyond the Connect codes.
constexpr int kFailTranslated = 100;
constexpr int kFailUntranslated = 101;

/// Registers the reference service and `GET /hello`.
void register_reference_service(Router& router);

/// The reference service behind a real server on a free loopback port.
class ReferenceServer {
 public:
  explicit ReferenceServer(HttpServerOptions server = {}, RouterOptions router = {});

  std::uint16_t port() const { return server_.address().port; }
  HttpServer& server() { return server_; }

 private:
  Router router_;
  HttpServer server_;
};

}  // namespace writ::test
