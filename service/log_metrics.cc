#include "service/log_metrics.h"

#include <prometheus/histogram.h>

#include <iterator>
#include <string>

#include "service/request_metrics.h"

namespace writ {
namespace {

using prometheus::MetricFamily;

using Bounds = prometheus::Histogram::BucketBoundaries;

prometheus::Histogram& histogram(prometheus::Registry& registry, const std::string& name,
                                 const std::string& help, const Bounds& bounds) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, bounds);
}

}  // namespace

LogMetrics::LogMetrics()
    : batch_events_(histogram(registry_, "writ_log_batch_events",
                              "Events committed together in one transaction.",
                              Bounds{1, 2, 4, 8, 16, 32, 64, 128, 256})),
      commit_seconds_(histogram(
          registry_, "writ_log_commit_seconds", "Of writing a batch and committing it.",
          Bounds{0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5})) {}

void LogMetrics::observe(const CommittedBatch& batch) {
  batch_events_.Observe(static_cast<double>(batch.events));
  commit_seconds_.Observe(std::chrono::duration<double>(batch.commit_time).count());
}

std::vector<MetricFamily> LogMetrics::collect(const SequencerStatus& status) const {
  const auto seconds = [](auto span) { return std::chrono::duration<double>(span).count(); };
  std::vector<MetricFamily> families = {
      gauge("writ_log_head_position", "Newest position known to be committed.", status.head.value),
      counter("writ_log_batches", "Transactions committed by this process.", status.batches),
      counter("writ_log_events", "Events in them.", status.events),
      gauge("writ_log_queued_commands", "Commands waiting.", status.queued),
      gauge("writ_log_struggling_seconds",
            "For how long commands have been worked on without one that got through.",
            seconds(status.struggling)),
      gauge("writ_log_clock_skew_seconds", "Database clock minus this host's.",
            seconds(status.clock_skew)),
      gauge("writ_log_refuses_to_write", "1 when writing is stopped.",
            status.refuses.empty() ? 0 : 1),
  };
  std::vector<MetricFamily> observed = registry_.Collect();
  std::move(observed.begin(), observed.end(), std::back_inserter(families));
  return families;
}

std::vector<MetricFamily> check_metrics(const ContinuousCheckStatus& status) {
  return {
      counter("writ_check_passes", "Comparisons of all rows with the log.", status.passes),
      counter("writ_check_rows", "Rows compared in them.", status.rows),
      gauge("writ_check_differences", "Groups of rows with one that is not what the log says.",
            status.differences),
  };
}

}  // namespace writ
