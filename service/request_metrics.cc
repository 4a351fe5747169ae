#include "service/request_metrics.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace writ {
namespace {

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto result =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return {text.data(), result.ptr};
}

void append_head(std::string_view name, std::string_view type, std::string_view help,
                 std::string* out) {
  out->append("# HELP ").append(name).append(" ").append(help).append("\n");
  out->append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void append_plain(std::string_view name, std::string_view type, std::string_view help,
                  std::uint64_t value, std::string* out) {
  append_head(name, type, help, out);
  out->append(name).append(" ").append(std::to_string(value)).append("\n");
}

// Routes and codes are our own words: nothing in them needs an escape.
std::string labels(std::string_view route, std::string_view code) {
  std::string out = "route=\"";
  return out.append(route).append("\",code=\"").append(code).append("\"");
}

}  // namespace

void RequestMetrics::observe(const RequestRecord& record) {
  const auto* const bound =
      std::lower_bound(kBounds.begin(), kBounds.end(), seconds_of(record.duration));
  const std::lock_guard lock(mutex_);
  auto route = routes_.find(record.route);
  if (route == routes_.end()) route = routes_.emplace(record.route, ByCode()).first;
  auto code = route->second.find(record.code);
  if (code == route->second.end()) code = route->second.emplace(record.code, Series()).first;
  Series& series = code->second;
  ++series.count;
  series.total += record.duration;
  if (bound != kBounds.end()) ++series.buckets.at(std::distance(kBounds.begin(), bound));
}

void RequestMetrics::write(const HttpServerState& server, std::string* out) const {
  std::string counts;
  std::string times;
  append_head("writ_requests_total", "counter", "Requests answered.", &counts);
  append_head("writ_request_seconds", "histogram", "From the request's head to the answer's end.",
              &times);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [route, by_code] : routes_) {
      for (const auto& [code, series] : by_code) {
        const std::string label = labels(route, code);
        const std::string count = std::to_string(series.count);
        counts.append("writ_requests_total{" + label + "} " + count + "\n");
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < kBounds.size(); ++i) {
          below += series.buckets.at(i);
          times.append("writ_request_seconds_bucket{" + label + ",le=\"" +
                       number_text(kBounds.at(i)) + "\"} " + std::to_string(below) + "\n");
        }
        times.append("writ_request_seconds_bucket{" + label + ",le=\"+Inf\"} " + count + "\n");
        times.append("writ_request_seconds_sum{" + label + "} " +
                     number_text(seconds_of(series.total)) + "\n");
        times.append("writ_request_seconds_count{" + label + "} " + count + "\n");
      }
    }
  }
  out->append(counts).append(times);
  append_plain("writ_connections", "gauge", "Open connections.", server.connections, out);
  append_plain("writ_connections_idle", "gauge", "Connections between two requests.", server.idle,
               out);
  append_plain("writ_streams", "gauge", "Streamed answers running.", server.streams, out);
  append_plain("writ_connections_accepted_total", "counter", "Connections ever.", server.accepted,
               out);
  append_plain("writ_connections_evicted_total", "counter",
               "Idle connections closed to let another in.", server.evicted, out);
  append_plain("writ_connections_turned_away_total", "counter",
               "Connections answered 503 because all were busy.", server.turned_away, out);
}

}  // namespace writ
