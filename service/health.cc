#include "service/health.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "service/connect_call.h"

namespace writ {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

// A probe's own time-out is seldom longer.
constexpr std::chrono::seconds kPatience{3};
// A batch takes milliseconds.
constexpr std::chrono::seconds kWriterPatience{5};

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
  // Not its text: paths are nobody's business.
  if (sources.locked_out && !sources.locked_out().empty())
    return {"nobody is let in: the file of tokens cannot be read", sequencer.head};
  DatabaseProbe::Finding found = sources.probe.ask(kPatience);
  const Position head = found.trouble.empty() ? found.head : std::max(found.head, sequencer.head);
  if (found.trouble.empty() && sequencer.struggling > kWriterPatience) {
    const auto time = std::chrono::duration_cast<std::chrono::seconds>(sequencer.struggling);
    return {"no change has got into the log for " + std::to_string(time.count()) +
                " s although some are waiting",
            head};
  }
  return {std::move(found.trouble), head};
}

void answer_ready(const Readiness& readiness, const std::vector<std::string>& warnings,
                  const std::string& difference, HttpResponse& response) {
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
  if (!warnings.empty()) {
    json.Key("warnings");
    json.StartArray();
    for (const std::string& warning : warnings) json.String(warning.c_str());
    json.EndArray();
  }
  if (!difference.empty()) {
    json.Key("difference");
    json.String(difference.c_str());
  }
  json.EndObject();
  answer(response, why.empty() ? 200 : 503, buffer);
}

void answer_alive(HttpResponse& response) {
  response.content_type = "text/plain; charset=utf-8";
  response.body = "ok\n";
}

}  // namespace

void answer_while_starting(const HttpRequest& request, HttpResponse& response) {
  constexpr const char* kStarting = "the service is starting";
  response.record.code = "ok";
  if (request.head.path == "/healthz") return answer_alive(response);
  response.set_header("Retry-After", "1");
  response.record.code = code_name(Code::kUnavailable);
  if (request.head.path == "/readyz") return answer_ready({kStarting, {}}, {}, {}, response);
  answer_error_as(parse_wire(request.head.field("Content-Type")),
                  ConnectError(Code::kUnavailable, kStarting), response);
}

void register_health(Router& router, const HealthSources& sources) {
  router.get("/healthz",
             [](const HttpRequest&, HttpResponse& response) { answer_alive(response); });
  router.get("/readyz", [&sources](const HttpRequest&, HttpResponse& response) {
    answer_ready(check(sources), sources.warnings, sources.difference ? sources.difference() : "",
                 response);
  });
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
