#include "tools/serve.h"

#include <google/protobuf/stubs/logging.h>
#include <malloc.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string_view>
#include <vector>

#include "events/connection_pool.h"
#include "events/erasure.h"
#include "events/log_check.h"
#include "events/migrator.h"
#include "events/sequencer.h"
#include "projections/continuous_check.h"
#include "projections/leaf_origins.h"
#include "projections/settings.h"
#include "projections/settings_reader.h"
#include "service/admin_service.h"
#include "service/apply_service.h"
#include "service/audit_proof.h"
#include "service/audit_service.h"
#include "service/audit_watch.h"
#include "service/authenticator.h"
#include "service/error_translation.h"
#include "service/file_limit.h"
#include "service/health.h"
#include "service/http_server.h"
#include "service/log_metrics.h"
#include "service/method_access.h"
#include "service/request_log.h"
#include "service/request_metrics.h"
#include "service/settings_commands.h"
#include "service/settings_service.h"
#include "tools/database.h"
#include "tools/identity_options.h"
#include "tools/last_resort.h"
#include "tools/stop_signals.h"

namespace writ {
namespace {

void tell(std::string_view line) { std::cerr << "writ: " << line << std::endl; }

constexpr std::size_t kOtherFiles =
    64;  // beside connections: the database, standard streams, libraries
constexpr int kLargeBlock = 1024 * 1024;                 // given back to the system when freed
constexpr std::size_t kAuditConnections = 4;             // questions about the past at a time
constexpr std::chrono::milliseconds kGrace{10'000};      // for requests in flight when told to stop
constexpr std::chrono::milliseconds kAfterGrace{3'000};  // for the rest to end

void tell_failure(std::string_view request, std::string_view what) {
  tell("request " + std::string(request) + ": " + std::string(what));
}

void warn(const std::string& line) { tell("warning: " + line); }

std::vector<std::string> start_warnings(const std::string& serving) {
  if (log_is_protected(serving)) return {};
  return {
      "the serving role may change the log, so only triggers keep it append-only; serve as "
      "writ_app and give the owner as --migrate-url"};
}

RouterOptions router_options(const ServeOptions& options, const Authenticator& authenticator) {
  RouterOptions router;
  router.max_message_bytes = options.max_body_bytes;
  router.allowed_origins = options.allowed_origins;
  router.identify = [&](const HttpRequest& request) { return authenticator.identify(request); };
  router.only_local_pages = [&, allowed = options.allow_anonymous] {
    return !allowed && authenticator.anonymous();
  };
  router.access_to = access_to;
  router.require_reason = options.callers.require_reason;
  router.translate = translate_storage_error;
  router.log_failure = tell_failure;
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
  http.body_memory = options.body_memory_bytes;
  const std::size_t wanted = http.max_connections;
  http.max_connections = fit_connections(wanted, kOtherFiles + options.read_connections);
  if (http.max_connections < wanted)
    tell("warning: the limit of open files allows " + std::to_string(http.max_connections) +
         " connections only, not " + std::to_string(wanted));
  http.log_failure = tell_failure;
  http.log = [&metrics, logger = request_logger(options.log_level)](const RequestRecord& record) {
    metrics.observe(record);
    if (logger->should_log(spdlog::level::info)) logger->info(request_line(record));
  };
  return http;
}

/// The HTTP server, which holds its port before anything else is touched, and answers that the
/// service is starting until there is a router.
struct Front {
  explicit Front(const ServeOptions& options)
      : server(http_options(options, requests),
               [this](const HttpRequest& request, HttpResponse& response) {
                 if (const Router* const ready = router.load()) {
                   ready->handle(request, response);
                 } else {
                   answer_while_starting(request, response);
                 }
               }) {
    server.start();
  }

  RequestMetrics requests;
  std::atomic<const Router*> router{nullptr};
  HttpServer server;  // last: its threads use the rest
};

/// Lets the front use a router while this object lives.
class Routed {
 public:
  Routed(Front& front, const Router& router) : front_(front) { front_.router = &router; }
  /// Stops without grace, if that was not done before.
  ~Routed() { front_.server.stop(std::chrono::milliseconds(0)); }
  Routed(const Routed&) = delete;
  Routed& operator=(const Routed&) = delete;

 private:
  Front& front_;
};

void register_metrics(Router& router, const Front& front, const LogMetrics& log,
                      const Sequencer& sequencer, const ContinuousCheck* check) {
  router.get("/metrics", [&, check](const HttpRequest&, HttpResponse& response) {
    auto families = front.requests.Collect();
    for (auto& more : {server_metrics(front.server.state()), log.collect(sequencer.status())})
      families.insert(families.end(), more.begin(), more.end());
    if (check != nullptr)
      for (auto& family : check_metrics(check->status())) families.push_back(std::move(family));
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics_text(families);
  });
}

SequencerOptions sequencer_options(const ServeOptions& options, const std::string& conninfo,
                                   CheckpointSigner* signer, LogMetrics& metrics) {
  SequencerOptions sequencer;
  sequencer.conninfo = conninfo;
  sequencer.batch_limit = options.batch_limit;
  sequencer.accept_clock = options.accept_clock;
  sequencer.warn = warn;
  sequencer.committed = [&metrics](const CommittedBatch& batch) { metrics.observe(batch); };
  if (signer != nullptr) {
    sequencer.last_checkpoint = [signer] { return signer->last(); };
    sequencer.keep = [signer](Position size, const Digest& root) {
      if (const auto last = signer->last(); !last || last->size < size) signer->sign(size, root);
    };
  }
  return sequencer;
}

/// What signs the log of this database; null when there is no key.
std::unique_ptr<CheckpointSigner> open_signer(const ServeOptions& options,
                                              const std::string& serving) {
  Connection connection(serving);
  auto signer =
      make_signer(options.log, options.database.data_directory,
                  options.database.database_url.empty(), read_tree_head(connection).log_id);
  if (signer && !signer->distrust().empty()) throw StartError(signer->distrust() + kWayOn);
  return signer;
}

ProofSources proof_sources(const ServeOptions& options, ConnectionPool& pool,
                           Checkpoints& checkpoints, const Authenticator& authenticator) {
  ProofSources sources{pool, checkpoints};
  sources.public_log = options.public_log;
  if (!options.public_log)
    sources.may_read_log = [&authenticator](const HttpRequest& request) {
      require_role_everywhere([&](const HttpRequest& one) { return authenticator.identify(one); },
                              request, Role::kAuditor);
    };
  return sources;
}

std::unique_ptr<ContinuousCheck> continuous_check(const ServeOptions& options,
                                                  const std::string& serving) {
  if (options.check_pause.count() == 0) return nullptr;
  ContinuousCheckOptions check;
  check.pause = options.check_pause;
  return std::make_unique<ContinuousCheck>(serving, check, warn);
}

/// All that serves one log, made in this order and ended in reverse.
struct Parts {
  Parts(const ServeOptions& options, std::string conninfo, std::vector<std::string> told)
      : serving(std::move(conninfo)),
        warnings(std::move(told)),
        signer(open_signer(options, serving)),
        pool(serving, options.read_connections, prepare_settings_queries),
        reader(pool, options.read_connections),
        sequencer(sequencer_options(options, serving, signer.get(), log_metrics),
                  {settings_domain(), erasure_domain()}),
        settings(sequencer, reader),
        follower(serving),
        changed_paths(serving, follower, warn),
        audit_pool(serving, kAuditConnections, prepare_tile_queries),
        checkpoints(
            audit_pool, signer.get(),
            [this](const std::string& why) { sequencer.stop_writing(why + kWayOn); }, warn),
        audit({audit_pool, sequencer, changed_paths}),
        origins(audit_pool, changed_paths),
        apply({reader, audit_pool, origins}),
        feed(serving, follower),
        probe(serving),
        check(continuous_check(options, serving)),
        identity(identity_options(options.callers, options.database.data_directory)),
        authenticator(identity, warn),
        admin{serving, sequencer, checkpoints, audit_pool, changed_paths},
        proofs(proof_sources(options, audit_pool, checkpoints, authenticator)) {}

  const std::string serving;
  const std::vector<std::string> warnings;
  const std::unique_ptr<CheckpointSigner> signer;
  LogMetrics log_metrics;
  ConnectionPool pool;
  SettingsReader reader;
  Sequencer sequencer;
  SettingsService settings;
  LogFollower follower;
  ChangedPaths changed_paths;
  ConnectionPool audit_pool;
  Checkpoints checkpoints;
  AuditService audit;
  LeafOrigins origins;
  ApplyService apply;
  ChangeFeed feed;
  std::atomic<bool> stopping = false;
  DatabaseProbe probe;
  const std::unique_ptr<ContinuousCheck> check;
  const IdentityOptions identity;
  const Authenticator authenticator;
  const AdminSources admin;
  const ProofSources proofs;
  const HealthSources health{probe,
                             sequencer,
                             WRIT_VERSION,
                             warnings,
                             [&] { return check ? check->status().first : std::string(); },
                             [&] { return authenticator.trouble(); },
                             stopping};
};

void register_parts(Router& router, Parts& parts, const Front& front) {
  register_settings_service(router, parts.settings);
  register_audit_service(router, parts.audit);
  register_apply_service(router, parts.apply);
  register_admin_service(router, parts.admin);
  register_watch(router, {parts.audit_pool, parts.changed_paths, parts.feed});
  register_proofs(router, parts.proofs);
  register_log_paths(router, parts.proofs);
  register_health(router, parts.health);
  register_metrics(router, front, parts.log_metrics, parts.sequencer, parts.check.get());
  router.get("/schema",
             [schema = router.file_descriptor_set()](const HttpRequest&, HttpResponse& response) {
               response.content_type = "application/octet-stream";
               response.body = schema;
             });
}

/// Everything between a database that is ready and the signal to stop: migrate, make the parts,
/// serve, wait, stop the parts in reverse order. Called with signals blocked, so that every thread
/// made here inherits that.
void serve_from(const ServeOptions& options, const ServiceDatabase& database, Front& front,
                StopSignals& signals) {
  migrate(with_session_settings(database.admin_connection()), database.separate_roles(),
          [](const std::string& line) { tell(line); });
  const std::string serving = with_session_settings(database.app_connection());
  const std::vector<std::string> warnings = start_warnings(serving);
  for (const std::string& warning : warnings) warn(warning);

  LastResort last_resort;  // before all that a query can hold up
  Parts parts(options, serving, warnings);
  Router router(router_options(options, parts.authenticator));
  register_parts(router, parts, front);
  const Routed routed(front, router);
  tell((parts.authenticator.anonymous()
            ? "everyone is anonymous and may change everything"
            : "callers need a token of " + parts.identity.token_file.string()) +
       "; serving http://" + front.server.address().text());
  signals.wait();
  tell("stopping after " + signals.name());
  parts.stopping = true;
  last_resort.arm(kGrace + kAfterGrace);
  front.server.stop(kGrace);
  parts.follower.stop();
  parts.sequencer.stop();
  parts.checkpoints.stop();
  database.begin_stop();
}

}  // namespace

int serve(const ServeOptions& options) {
  // The limit would grow with the first large body that is freed, and later ones stay with us.
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  // A malformed message is the client's fault and in its answer; libprotobuf would print it as
  // well.
  google::protobuf::SetLogHandler(nullptr);
  StopSignals signals;
  {
    Front front(options);
    const ServiceDatabase database(options.database, tell, [&] { return signals.requested(); });
    serve_from(options, database, front, signals);
  }
  tell("stopped");
  return kSuccess;
}

}  // namespace writ
