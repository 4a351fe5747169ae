#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "tests/service/good_client.h"
#include "tests/service/raw_client.h"
#include "tests/service/reference_service.h"

namespace writ::test {

/// A server with a client that behaves and wants to be served promptly, whatever the test does to
/// the server meanwhile.
class Besieged {
 public:
  explicit Besieged(HttpServerOptions options = {}, RouterOptions router = {})
      : Besieged(kGoodComesLater, std::move(options), std::move(router)) {
    good();
  }
  /// The good client comes when `good` is called first.
  enum GoodComesLater { kGoodComesLater };
  explicit Besieged(GoodComesLater, HttpServerOptions options = {}, RouterOptions router = {})
      : server_(std::move(options), std::move(router)) {}

  std::uint16_t port() const { return server_.port(); }
  HttpServer& server() { return server_.server(); }
  GoodClient& good() {
    if (!good_) good_.emplace(port());
    return *good_;
  }

  /// At the end of each test: fails unless the good client has been served all the time, and still
  /// is. The time is for the slowest answer; sanitizers get more.
  void check_good_client(std::chrono::milliseconds limit = std::chrono::seconds(2));
  /// The same, and it must not have been turned away even once.
  void check_good_client_always_got_in();

 private:
  ReferenceServer server_;
  std::optional<GoodClient> good_;
};

}  // namespace writ::test
