#pragma once

#include <chrono>

#include "tests/service/good_client.h"
#include "tests/service/raw_client.h"
#include "tests/service/reference_service.h"

namespace writ::test {

/// A server with a client that behaves and wants to be served promptly, whatever the test does to
/// the server meanwhile. The time is generous: sanitizers and busy machines.
class Besieged {
 public:
  explicit Besieged(HttpServerOptions options = {}, RouterOptions router = {})
      : server_(std::move(options), std::move(router)), good_(server_.port()) {}

  std::uint16_t port() const { return server_.port(); }
  HttpServer& server() { return server_.server(); }
  GoodClient& good() { return good_; }

  /// At the end of each test: fails unless the good client has been served all the time, and still
  /// is.
  void check_good_client(std::chrono::milliseconds limit = std::chrono::seconds(2));

 private:
  ReferenceServer server_;
  GoodClient good_;
};

}  // namespace writ::test
