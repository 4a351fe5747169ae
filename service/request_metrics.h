#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "service/http_server.h"

namespace writ {

/// Counts requests and their times by route and code, for Prometheus. Safe from many threads, which
/// never wait for each other. Whatever clients do, there are at most `kMostSeries` series: what is
/// beyond them is counted as route and code "other".
class RequestMetrics : public prometheus::Collectable {
 public:
  RequestMetrics() = default;
  ~RequestMetrics() override;
  RequestMetrics(const RequestMetrics&) = delete;
  RequestMetrics& operator=(const RequestMetrics&) = delete;

  /// For HttpServerOptions::log.
  void observe(const RequestRecord& record);

  /// `writ_requests_total` and `writ_request_seconds`.
  std::vector<prometheus::MetricFamily> Collect() const override;

  /// Upper bounds of the histogram's buckets, in seconds.
  static constexpr std::array<double, 13> kBounds = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
  static constexpr std::size_t kMostSeries = 512;

 private:
  struct Series {
    std::string route;
    std::string code;
    std::atomic<std::int64_t> nanoseconds{0};
    /// Each on its own, not cumulative; the last is beyond all bounds.
    std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> buckets{};
  };

  Series& find(std::string_view route, std::string_view code);

  // A hash table with open addressing, of which nothing is ever taken out.
  std::array<std::atomic<Series*>, 2 * kMostSeries> slots_{};
  std::atomic<std::size_t> series_{0};
  Series other_{"other", "other", {}, {}};
};

/// One metric without labels.
template <typename Number>
prometheus::MetricFamily gauge(const std::string& name, const std::string& help, Number value) {
  prometheus::ClientMetric metric;
  metric.gauge.value = static_cast<double>(value);
  return {name, help, prometheus::MetricType::Gauge, {metric}};
}
template <typename Number>
prometheus::MetricFamily counter(const std::string& name, const std::string& help, Number value) {
  prometheus::ClientMetric metric;
  metric.counter.value = static_cast<double>(value);
  return {name, help, prometheus::MetricType::Counter, {metric}};
}

/// The state of the connections, under names that begin with `writ_`.
std::vector<prometheus::MetricFamily> server_metrics(const HttpServerState& state);

/// All of them in the text format.
std::string metrics_text(const std::vector<prometheus::MetricFamily>& families);

}  // namespace writ
