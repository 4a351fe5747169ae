#include "service/health.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace writ {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr std::chrono::seconds kPatience{
    5};  // for a connection; a probe's own time-out is seldom longer

void answer(HttpResponse& response, int status, const rapidjson::StringBuffer& body) {
  response.status = status;
  response.content_type = "application/json";
  response.body.assign(body.GetString(), body.GetSize());
  response.body += '\n';
}

struct Readiness {
  std::string why_not;  // "" when it is ready
  Position head;        // of the log; while the database is away, what this process last saw of it
};

Readiness check(const HealthSources& sources) {
  const SequencerStatus sequencer = sources.sequencer.status();
  if (sources.stopping) return {"the service is stopping", sequencer.head};
  if (!sequencer.refuses.empty()) return {sequencer.refuses, sequencer.head};
  try {
    return sources.pool.read(std::chrono::steady_clock::now() + kPatience,
                             [](Connection& connection) -> Readiness {
                               const auto rows = connection.exec("SELECT position FROM log_head");
                               if (rows.size() != 1) return {"the log has no head", {}};
                               return {"", {rows[0][0].as<std::int64_t>()}};
                             });
  } catch (const StorageUnavailable&) {
    return {"the database is unavailable", sequencer.head};
  } catch (const DeadlineExceeded&) {
    return {"no database connection is free", sequencer.head};
  } catch (const StorageError&) {
    return {"the database refuses to show the log", sequencer.head};
  }
}

void ready(const HealthSources& sources, HttpResponse& response) {
  const Readiness readiness = check(sources);
  const std::string& why = readiness.why_not;
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  json.StartObject();
  json.Key("ready");
  json.Bool(why.empty());
  if (!why.empty()) {
    json.Key("reason");
    json.String(why.c_str());
  }
  json.Key("headPosition");
  json.String(std::to_string(readiness.head.value).c_str());
  if (!sources.warnings.empty()) {
    json.Key("warnings");
    json.StartArray();
    for (const std::string& warning : sources.warnings) json.String(warning.c_str());
    json.EndArray();
  }
  json.EndObject();
  answer(response, why.empty() ? 200 : 503, buffer);
}

}  // namespace

void register_health(Router& router, const HealthSources& sources) {
  router.get("/healthz", [](const HttpRequest&, HttpResponse& response) {
    response.content_type = "text/plain; charset=utf-8";
    response.body = "ok\n";
  });
  router.get("/readyz",
             [&sources](const HttpRequest&, HttpResponse& response) { ready(sources, response); });
  router.get("/version", [&sources](const HttpRequest&, HttpResponse& response) {
    rapidjson::StringBuffer buffer;
    Json json(buffer);
    json.StartObject();
    json.Key("version");
    json.String(sources.version.c_str());
    json.EndObject();
    answer(response, 200, buffer);
  });
}

}  // namespace writ
