#pragma once

#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <vector>

#include "events/sequencer.h"
#include "projections/continuous_check.h"

namespace prometheus {
class Histogram;
}

namespace writ {

/// What Prometheus is told of the log and of the sequencer that appends to it.
class LogMetrics {
 public:
  LogMetrics();

  /// For SequencerOptions::committed.
  void observe(const CommittedBatch& batch);

  /// `writ_log_...`: all of `status`, and the histograms of what was observed.
  std::vector<prometheus::MetricFamily> collect(const SequencerStatus& status) const;

 private:
  prometheus::Registry registry_;
  prometheus::Histogram& batch_events_;
  prometheus::Histogram& commit_seconds_;
};

/// `writ_check_...`: what the continuous check tells of itself.
std::vector<prometheus::MetricFamily> check_metrics(const ContinuousCheckStatus& status);

}  // namespace writ
