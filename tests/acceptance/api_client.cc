#include "tests/acceptance/api_client.h"

#include <httplib.h>

#include <algorithm>

namespace writ::test {

struct ApiClient::Impl {
  explicit Impl(std::uint16_t port) : http("127.0.0.1", port) {}
  httplib::Client http;
  HttpFields always;

  httplib::Request request(const std::string& method, const std::string& path,
                           const std::string& type, const std::string& body,
                           const HttpFields& headers) const {
    httplib::Request out;
    out.method = method;
    out.path = path;
    out.body = body;
    for (const auto& [name, value] : always) out.headers.emplace(name, value);
    for (const auto& [name, value] : headers) out.headers.emplace(name, value);
    if (!type.empty()) out.headers.emplace("Content-Type", type);
    return out;
  }

  HttpAnswer answer_to(const httplib::Request& request) {
    const httplib::Result result = http.send(request);
    HttpAnswer answer;
    if (!result) return answer;
    answer.status = result->status;
    answer.body = result->body;
    answer.headers.assign(result->headers.begin(), result->headers.end());
    return answer;
  }
};

std::string HttpAnswer::header(std::string_view name) const {
  const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  for (const auto& [key, value] : headers)
    if (std::equal(key.begin(), key.end(), name.begin(), name.end(), same)) return value;
  return "";
}

std::string HttpAnswer::text(std::string_view member) const {
  if (body.empty() || body.front() != '{') return "";
  const Json parsed = json();
  const Json* found = parsed.find(member);
  return found == nullptr ? "" : found->text();
}

long HttpAnswer::version() const {
  if (status != 200) return 0;
  const Json parsed = json();
  const Json* found = parsed.at("settingsRecord").find("version");
  return found == nullptr ? 0 : std::stol(found->text());
}

ApiClient::ApiClient(std::uint16_t port, std::chrono::seconds patience)
    : impl_(std::make_unique<Impl>(port)) {
  impl_->http.set_keep_alive(true);
  impl_->http.set_tcp_nodelay(true);
  impl_->http.set_decompress(true);
  impl_->http.set_url_encode(false);
  impl_->http.set_connection_timeout(patience);
  impl_->http.set_read_timeout(patience);
  impl_->http.set_write_timeout(patience);
}

ApiClient::~ApiClient() = default;
ApiClient::ApiClient(ApiClient&&) noexcept = default;

void ApiClient::always(HttpFields headers) { impl_->always = std::move(headers); }

HttpAnswer ApiClient::get(const std::string& path, const HttpFields& headers) {
  return send("GET", path, "", "", headers);
}

HttpAnswer ApiClient::send(const std::string& method, const std::string& path,
                           const std::string& type, const std::string& body,
                           const HttpFields& headers) {
  return impl_->answer_to(impl_->request(method, path, type, body, headers));
}

HttpAnswer ApiClient::stream(const std::string& path, const std::string& type,
                             const std::string& body,
                             const std::function<bool(std::string_view)>& take,
                             const HttpFields& headers) {
  httplib::Request request = impl_->request("POST", path, type, body, headers);
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    return take({data, size});
  };
  return impl_->answer_to(request);
}

void ApiClient::stop() { impl_->http.stop(); }

HttpAnswer ApiClient::call(const std::string& method, const std::string& body,
                           const HttpFields& headers) {
  return send("POST", kService + method, "application/json", body, headers);
}

HttpAnswer ApiClient::call_binary(const std::string& method, const std::string& body,
                                  const HttpFields& headers) {
  return send("POST", kService + method, "application/proto", body, headers);
}

Json key_json(const std::string& domain, const std::string& project) {
  Json key = Json::object();
  if (!domain.empty()) key["domain"] = domain;
  if (!project.empty()) key["project"] = project;
  return key;
}

Json queue_settings(const std::string& queue) {
  Json settings = Json::object();
  settings["run"]["defaultQueue"]["state"] = "SETTING_STATE_VALUE";
  settings["run"]["defaultQueue"]["stringValue"] = queue;
  return settings;
}

Json large_settings(char letter) {
  std::vector<Json::Member> entries;
  for (int i = 0; i < 10; ++i)
    entries.emplace_back("V" + std::to_string(i), std::string(100'000, letter));
  Json settings = Json::object();
  settings["environmentVariables"]["state"] = "SETTING_STATE_VALUE";
  settings["environmentVariables"]["mapValue"]["entries"] = Json::object(std::move(entries));
  return settings;
}

Json create_json(const Json& key, const Json& settings) {
  Json request = Json::object();
  request["key"] = key;
  request["settings"] = settings;
  return request;
}

Json update_json(const Json& key, const Json& settings, long version) {
  Json request = create_json(key, settings);
  request["version"] = std::to_string(version);
  return request;
}

}  // namespace writ::test
