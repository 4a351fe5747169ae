#pragma once

#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <vector>

#include "events/sequencer.h"

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

}  // namespace writ
