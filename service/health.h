#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "events/sequencer.h"
#include "service/connect.h"
#include "service/database_probe.h"

namespace writ {

/// What the health routes speak of.
struct HealthSources {
  DatabaseProbe& probe;
  const Sequencer& sequencer;
  std::string version;  ///< Of the program.
  std::vector<std::string>
      warnings;  ///< Of the start, shown by /readyz; they do not make it false.
  /// What the continuous check found, "" for nothing; does not make /readyz false, either.
  std::function<std::string()> difference;
  /// Why nobody can be let in, "" when all is well.
  std::function<std::string()> locked_out;
  const std::atomic<bool>& stopping;  ///< Set before the server stops: /readyz turns false first.
};

/// Registers `GET /healthz` (the process lives), `/readyz` (the database answers, the head is known
/// and may be written, no change has been stuck on its way into the log for long, the service is
/// not stopping) and `/version`. `sources` must outlive the router.
void register_health(Router& router, const HealthSources& sources);

/// Answers everything while there is no router yet: the process lives, is not ready, and says
/// `unavailable`.
void answer_while_starting(const HttpRequest& request, HttpResponse& response);

}  // namespace writ
