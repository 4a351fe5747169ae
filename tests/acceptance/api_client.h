#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/acceptance/json.h"

namespace writ::test {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

/// An answer as a client gets it.
struct HttpAnswer {
  int status = 0;  ///< 0: none came; whether the request had an effect is unknown.
  HttpFields headers;
  std::string body;

  /// The first header of this name, whatever its case; "" when absent.
  std::string header(std::string_view name) const;
  /// The body as JSON; throws when it is none.
  Json json() const { return Json::parse(body); }
  /// `code` and `message` of a Connect error, "" when there are none.
  std::string code() const { return text("code"); }
  std::string message() const { return text("message"); }
  /// The version in `settingsRecord`, 0 when there is none.
  long version() const;

 private:
  std::string text(std::string_view member) const;
};

/// Talks to a service on the loopback address over one kept connection. For one thread, but for
/// `stop`. Never sends anything twice.
class ApiClient {
 public:
  explicit ApiClient(std::uint16_t port, std::chrono::seconds patience = std::chrono::seconds(40));
  ~ApiClient();
  ApiClient(ApiClient&&) noexcept;

  /// Headers that go with every request from here on.
  void always(HttpFields headers);

  HttpAnswer get(const std::string& path, const HttpFields& headers = {});
  /// `type` "" sends no Content-Type.
  HttpAnswer send(const std::string& method, const std::string& path, const std::string& type,
                  const std::string& body, const HttpFields& headers = {});
  /// A POST whose answer is handed to `take` in pieces, as they come, instead of being kept. The
  /// call is broken off when that answers false.
  HttpAnswer stream(const std::string& path, const std::string& type, const std::string& body,
                    const std::function<bool(std::string_view)>& take,
                    const HttpFields& headers = {});
  /// From any thread: breaks off the call at hand; one that still connects goes on.
  void stop();

  /// A method of the settings service, in JSON.
  HttpAnswer call(const std::string& method, const std::string& body,
                  const HttpFields& headers = {});
  HttpAnswer call(const std::string& method, const Json& body, const HttpFields& headers = {}) {
    return call(method, body.dump(), headers);
  }
  /// The same with a binary body.
  HttpAnswer call_binary(const std::string& method, const std::string& body,
                         const HttpFields& headers = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline const std::string kService = "/flyteidl2.settings.SettingsService/";

/// `{"domain":…,"project":…}` without what is empty.
Json key_json(const std::string& domain, const std::string& project = "");
/// Settings with a default queue of this name.
Json queue_settings(const std::string& queue);
/// Settings of nearly a mebibyte, whose texts are all of this letter.
Json large_settings(char letter = 'x');
Json create_json(const Json& key, const Json& settings);
Json update_json(const Json& key, const Json& settings, long version);

}  // namespace writ::test
