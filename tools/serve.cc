#include "tools/serve.h"

#include <iostream>
#include <string_view>

#include "tools/database.h"
#include "tools/stop_signals.h"

namespace writ {
namespace {

void tell(std::string_view line) { std::cerr << "writ: " << line << std::endl; }

/// Everything between a database that is ready and the signal to stop: migrate, make the parts,
/// listen, wait, stop the parts in reverse order. Called with signals blocked, so that every thread
/// made here inherits that.
void serve_from(const ServeOptions& options, const ServiceDatabase& database,
                StopSignals& signals) {
  (void)database;
  tell("nothing is served on " + options.listen.text() + " yet; Ctrl-C stops");
  signals.wait();
}

}  // namespace

int serve(const ServeOptions& options) {
  StopSignals signals;
  {
    const ServiceDatabase database(options.database, tell, [&] { return signals.requested(); });
    serve_from(options, database, signals);
    tell("stopping after " + signals.name());
  }
  tell("stopped");
  return kSuccess;
}

}  // namespace writ
