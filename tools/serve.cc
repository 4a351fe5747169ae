#include "tools/serve.h"

#include <atomic>
#include <iostream>
#include <string_view>
#include <vector>

#include "events/connection_pool.h"
#include "events/migrator.h"
#include "events/sequencer.h"
#include "projections/settings.h"
#include "projections/settings_reader.h"
#include "service/error_translation.h"
#include "service/health.h"
#include "service/http_server.h"
#include "service/settings_commands.h"
#include "service/settings_service.h"
#include "tools/database.h"
#include "tools/stop_signals.h"

namespace writ {
namespace {

void tell(std::string_view line) { std::cerr << "writ: " << line << std::endl; }

constexpr std::chrono::milliseconds kGrace{10'000};  // for requests in flight when told to stop

std::vector<std::string> start_warnings(const std::string& serving) {
  if (log_is_protected(serving)) return {};
  return {"the serving role may change the log: append-only rests on triggers alone"};
}

RouterOptions router_options(const ServeOptions& options) {
  RouterOptions router;
  router.max_message_bytes = options.max_body_bytes;
  router.only_local_pages = !options.allow_anonymous;
  router.translate = translate_storage_error;
  router.log_failure = [](std::string_view request, std::string_view what) {
    tell("request " + std::string(request) + ": " + std::string(what));
  };
  return router;
}

HttpServerOptions http_options(const ServeOptions& options) {
  HttpServerOptions http;
  http.listen = options.listen;
  http.limits.body_bytes = options.max_body_bytes;
  http.log_failure = router_options(options).log_failure;
  return http;
}

SequencerOptions sequencer_options(const ServeOptions& options, const std::string& conninfo) {
  SequencerOptions sequencer;
  sequencer.conninfo = conninfo;
  sequencer.batch_limit = options.batch_limit;
  sequencer.accept_clock = options.accept_clock;
  sequencer.warn = [](const std::string& line) { tell("warning: " + line); };
  return sequencer;
}

/// Everything between a database that is ready and the signal to stop: migrate, make the parts,
/// listen, wait, stop the parts in reverse order. Called with signals blocked, so that every thread
/// made here inherits that.
void serve_from(const ServeOptions& options, const ServiceDatabase& database,
                StopSignals& signals) {
  migrate(with_session_settings(database.admin_connection()), database.separate_roles(),
          [](const std::string& line) { tell(line); });
  const std::string serving = with_session_settings(database.app_connection());
  const std::vector<std::string> warnings = start_warnings(serving);
  for (const std::string& warning : warnings) tell("warning: " + warning);

  // One more than the reads may use, so that /readyz never waits for them.
  ConnectionPool pool(serving, options.read_connections + 1, prepare_settings_queries);
  SettingsReader reader(pool, options.read_connections);
  Sequencer sequencer(sequencer_options(options, serving), {settings_domain()});
  SettingsService settings(sequencer, reader);
  std::atomic<bool> stopping = false;
  const HealthSources health{pool, sequencer, WRIT_VERSION, warnings, stopping};
  Router router(router_options(options));
  register_settings_service(router, settings);
  register_health(router, health);
  HttpServer server(http_options(options), [&](const HttpRequest& request, HttpResponse& response) {
    router.handle(request, response);
  });
  server.start();
  tell("everyone is anonymous and may change everything; serving http://" +
       server.address().text());
  signals.wait();
  tell("stopping after " + signals.name());
  stopping = true;
  server.stop(kGrace);
  sequencer.stop();
}

}  // namespace

int serve(const ServeOptions& options) {
  StopSignals signals;
  {
    const ServiceDatabase database(options.database, tell, [&] { return signals.requested(); });
    serve_from(options, database, signals);
  }
  tell("stopped");
  return kSuccess;
}

}  // namespace writ
