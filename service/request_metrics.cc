#include "service/request_metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

namespace writ {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr auto kRelaxed = std::memory_order_relaxed;

double seconds_of(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

template <typename Series>
ClientMetric labelled(const Series& series) {
  ClientMetric metric;
  metric.label = {{"route", series.route}, {"code", series.code}};
  return metric;
}

template <typename Series>
void add_series(const Series& series, MetricFamily* counts, MetricFamily* times) {
  ClientMetric time = labelled(series);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < series.buckets.size(); ++i) {
    below += series.buckets[i].load(kRelaxed);
    const double bound = i < RequestMetrics::kBounds.size()
                             ? RequestMetrics::kBounds[i]
                             : std::numeric_limits<double>::infinity();
    time.histogram.bucket.push_back({below, bound});
  }
  if (below == 0) return;
  time.histogram.sample_count = below;
  time.histogram.sample_sum = seconds_of(series.nanoseconds.load(kRelaxed));
  ClientMetric count = labelled(series);
  count.counter.value = static_cast<double>(below);
  counts->metric.push_back(std::move(count));
  times->metric.push_back(std::move(time));
}

}  // namespace

RequestMetrics::~RequestMetrics() {
  for (const auto& slot : slots_) delete slot.load();
}

void RequestMetrics::observe(const RequestRecord& record) {
  const std::int64_t time = record.duration.count();
  const auto* const bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds_of(time));
  Series& series = find(record.route, record.code);
  series.nanoseconds.fetch_add(time, kRelaxed);
  series.buckets[static_cast<std::size_t>(std::distance(kBounds.begin(), bound))].fetch_add(
      1, kRelaxed);
}

RequestMetrics::Series& RequestMetrics::find(std::string_view route, std::string_view code) {
  const std::hash<std::string_view> hash;
  std::unique_ptr<Series> fresh;
  for (std::size_t at = hash(route) ^ (hash(code) * 3);; ++at) {
    std::atomic<Series*>& slot = slots_[at % slots_.size()];
    Series* found = slot.load(std::memory_order_acquire);
    if (found == nullptr) {
      if (!fresh) {
        // Counted first, so that the table always has empty slots and every search an end.
        if (series_.fetch_add(1) >= kMostSeries) {
          series_.fetch_sub(1);
          return other_;
        }
        fresh.reset(new Series{std::string(route), std::string(code), {}, {}});
      }
      if (slot.compare_exchange_strong(found, fresh.get())) return *fresh.release();
    }
    if (found->route == route && found->code == code) {
      if (fresh) series_.fetch_sub(1);  // another thread was faster
      return *found;
    }
  }
}

std::vector<MetricFamily> RequestMetrics::Collect() const {
  MetricFamily counts{"writ_requests_total", "Requests answered.", MetricType::Counter, {}};
  MetricFamily times{"writ_request_seconds",
                     "From the request's head to the answer's end.",
                     MetricType::Histogram,
                     {}};
  std::vector<const Series*> all = {&other_};
  for (const auto& slot : slots_) {
    if (const Series* const series = slot.load(std::memory_order_acquire)) all.push_back(series);
  }
  std::sort(all.begin(), all.end(), [](const Series* a, const Series* b) {
    return std::tie(a->route, a->code) < std::tie(b->route, b->code);
  });
  for (const Series* const series : all) add_series(*series, &counts, &times);
  return {std::move(counts), std::move(times)};
}

std::vector<MetricFamily> server_metrics(const HttpServerState& state) {
  return {
      gauge("writ_connections", "Open connections.", state.connections),
      gauge("writ_connections_idle", "Connections between two requests.", state.idle),
      gauge("writ_streams", "Streamed answers running.", state.streams),
      gauge("writ_body_memory_bytes", "Taken by request bodies and what is made of them.",
            state.body_memory),
      counter("writ_connections_accepted_total", "Connections ever.", state.accepted),
      counter("writ_connections_evicted_total", "Connections closed to let another in.",
              state.evicted),
      counter("writ_connections_turned_away_total",
              "Connections answered 503 because all were busy.", state.turned_away),
  };
}

std::string metrics_text(const std::vector<MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace writ
