#include "tools/serve.h"

#include <google/protobuf/stubs/logging.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string_view>
#include <vector>

#include "events/connection_pool.h"
#include "events/migrator.h"
#include "events/sequencer.h"
#include "projections/settings.h"
#include "projections/settings_reader.h"
#include "service/audit_service.h"
#include "service/audit_watch.h"
#include "service/error_translation.h"
#include "service/file_limit.h"
#include "service/health.h"
#include "service/http_server.h"
#include "service/request_log.h"
#include "service/request_metrics.h"
#include "service/settings_commands.h"
#include "service/settings_service.h"
#include "tools/database.h"
#include "tools/stop_signals.h"

namespace writ {
namespace {

void tell(std::string_view line) { std::cerr << "writ: " << line << std::endl; }

constexpr std::size_t kOtherFiles =
    64;  // beside connections: the database, standard streams, libraries
constexpr std::size_t kAuditConnections = 4;         // questions about the past at a time
constexpr std::chrono::milliseconds kGrace{10'000};  // for requests in flight when told to stop

std::vector<std::string> start_warnings(const std::string& serving) {
  if (log_is_protected(serving)) return {};
  return {
      "the serving role may change the log, so only triggers keep it append-only; serve as "
      "writ_app and give the owner as --migrate-url"};
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

/// One line of JSON a request, on standard error, when the level lets it.
std::shared_ptr<spdlog::logger> request_logger(const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>("requests",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::from_str(level));
  return logger;
}

HttpServerOptions http_options(const ServeOptions& options, RequestMetrics& metrics) {
  HttpServerOptions http;
  http.listen = options.listen;
  http.limits.body_bytes = options.max_body_bytes;
  const std::size_t wanted = http.max_connections;
  http.max_connections = fit_connections(wanted, kOtherFiles + options.read_connections);
  if (http.max_connections < wanted)
    tell("warning: the limit of open files allows " + std::to_string(http.max_connections) +
         " connections only, not " + std::to_string(wanted));
  http.log_failure = router_options(options).log_failure;
  http.log = [&metrics, logger = request_logger(options.log_level)](const RequestRecord& record) {
    metrics.observe(record);
    if (logger->should_log(spdlog::level::info)) logger->info(request_line(record));
  };
  return http;
}

void add_gauge(std::string& out, std::string_view name, std::string_view help, double value) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  out.append(" gauge\n").append(name).append(" ").append(fmt::format("{}", value)).append("\n");
}

std::string metrics_text(const RequestMetrics& metrics, const HttpServer& server,
                         const Sequencer& sequencer) {
  std::string out;
  metrics.write(server.state(), &out);
  const SequencerStatus status = sequencer.status();
  add_gauge(out, "writ_log_head_position", "Newest position known to be committed.",
            static_cast<double>(status.head.value));
  add_gauge(out, "writ_log_batches", "Transactions committed by this process.",
            static_cast<double>(status.batches));
  add_gauge(out, "writ_log_events", "Events in them.", static_cast<double>(status.events));
  add_gauge(out, "writ_log_queued_commands", "Commands waiting.",
            static_cast<double>(status.queued));
  add_gauge(out, "writ_log_clock_skew_seconds", "Database clock minus this host's.",
            std::chrono::duration<double>(status.clock_skew).count());
  add_gauge(out, "writ_log_refuses_to_write", "1 when writing is stopped.",
            status.refuses.empty() ? 0 : 1);
  return out;
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
  LogFollower follower(serving);
  ChangedPaths changed_paths(serving, follower,
                             [](const std::string& line) { tell("warning: " + line); });
  ConnectionPool audit_pool(serving, kAuditConnections, [](Connection&) {});
  AuditService audit({audit_pool, sequencer, changed_paths});
  ChangeFeed feed(serving, follower);
  std::atomic<bool> stopping = false;
  const HealthSources health{pool, sequencer, WRIT_VERSION, warnings, stopping};
  Router router(router_options(options));
  register_settings_service(router, settings);
  register_audit_service(router, audit);
  register_watch(router, {audit_pool, changed_paths, feed});
  register_health(router, health);
  RequestMetrics metrics;
  HttpServer server(http_options(options, metrics),
                    [&](const HttpRequest& request, HttpResponse& response) {
                      router.handle(request, response);
                    });
  router.get("/metrics", [&](const HttpRequest&, HttpResponse& response) {
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics_text(metrics, server, sequencer);
  });
  router.get("/schema",
             [schema = router.file_descriptor_set()](const HttpRequest&, HttpResponse& response) {
               response.content_type = "application/octet-stream";
               response.body = schema;
             });
  server.start();
  tell("everyone is anonymous and may change everything; serving http://" +
       server.address().text());
  signals.wait();
  tell("stopping after " + signals.name());
  stopping = true;
  server.stop(kGrace);
  follower.stop();
  sequencer.stop();
}

}  // namespace

int serve(const ServeOptions& options) {
  // A malformed message is the client's fault and in its answer; libprotobuf would print it as
  // well.
  google::protobuf::SetLogHandler(nullptr);
  StopSignals signals;
  {
    const ServiceDatabase database(options.database, tell, [&] { return signals.requested(); });
    serve_from(options, database, signals);
  }
  tell("stopped");
  return kSuccess;
}

}  // namespace writ
