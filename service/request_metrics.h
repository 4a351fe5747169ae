#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "service/http_server.h"

namespace writ {

/// Counts requests and their times by route and code, in the text format of Prometheus. Safe from
/// many threads. Holds one series for each route and code there is, so clients cannot make it grow.
class RequestMetrics {
 public:
  /// For HttpServerOptions::log.
  void observe(const RequestRecord& record);

  /// Appends `writ_requests_total`, `writ_request_seconds` and the state of the connections.
  void write(const HttpServerState& server, std::string* out) const;

  /// Upper bounds of the histogram's buckets, in seconds.
  static constexpr std::array<double, 13> kBounds = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};

 private:
  struct Series {
    std::uint64_t count = 0;
    std::chrono::nanoseconds total{0};
    std::array<std::uint64_t, kBounds.size()> buckets{};  // each on its own, not cumulative
  };
  using ByCode = std::map<std::string, Series, std::less<>>;

  mutable std::mutex mutex_;
  std::map<std::string, ByCode, std::less<>> routes_;
};

}  // namespace writ
