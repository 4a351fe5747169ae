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

/// Why the service is not ready, "" when it is.
std::string why_not(const HealthSources& sources) {
  if (sources.stopping) return "the service is stopping";
  if (const std::string refuses = sources.sequencer.status().refuses; !refuses.empty())
    return refuses;
  try {
    sources.pool.read(std::chrono::steady_clock::now() + kPatience, [](Connection& connection) {
      return connection.exec("SELECT position FROM log_head").size();
    });
  } catch (const StorageUnavailable&) {
    return "the database is unavailable";
  } catch (const DeadlineExceeded&) {
    return "no database connection is free";
  }
  return "";
}

void ready(const HealthSources& sources, HttpResponse& response) {
  const std::string why = why_not(sources);
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
  json.String(std::to_string(sources.sequencer.status().head.value).c_str());
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
