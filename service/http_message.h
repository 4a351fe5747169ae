#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/http_head.h"
#include "service/memory_budget.h"

namespace writ {

/// One line of the request log, and what the metrics count.
struct RequestRecord {
  std::string method;      ///< The HTTP method; "-" when the head could not be read.
  std::string route;       ///< The registered path, never the client's text; "-" when none matched.
  std::string code;        ///< A Connect code, or "ok"; for plain routes the HTTP status class.
  std::string key;         ///< What the handler says it was about, e.g. a storage key.
  std::string actor;       ///< "" until the caller is known.
  std::string request_id;  ///< As sent to the client.
  std::string peer;
  int status = 0;  ///< HTTP.
  std::chrono::nanoseconds duration{0};
  std::size_t request_bytes = 0;   ///< Body.
  std::size_t response_bytes = 0;  ///< Head and body.
};

/// The answer. Its body, or a stream opened at the request's gate.
struct HttpResponse {
  int status = 200;
  std::string content_type;  ///< Sent when there is a body.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  RequestRecord record;  ///< The handler fills route, code, key and actor; the server the rest.

  void set_header(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
  }
};

/// The way out for an answer that is made piece by piece. Used by the request's thread only.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  /// Sends bytes at once. False when the client is gone or too slow: then end the answer.
  [[nodiscard]] virtual bool write(std::string_view bytes) = 0;
  /// False once the client has closed its end. Costs one system call.
  [[nodiscard]] virtual bool peer_open() = 0;
  /// True when the server is about to stop: end the answer soon. `write` still works.
  [[nodiscard]] virtual bool stopping() = 0;
};

/// Where a handler gets its stream from.
class StreamGate {
 public:
  virtual ~StreamGate() = default;
  /// Takes a place for a stream, which is given back after the answer. False when all places are
  /// taken.
  [[nodiscard]] virtual bool reserve() = 0;
  /// Sends the head of the answer, moving its content out; what is written is its body, which ends
  /// when the handler returns. An exception of the handler after this cuts the connection off. At
  /// most once a request.
  virtual StreamWriter& open(HttpResponse& head) = 0;
};

/// A whole request. The views live as long as the call that was given it.
struct HttpRequest {
  RequestHead head;
  std::string_view body;  ///< Without its framing, still compressed if it was.
  /// Why the body is not here; answer with that.
  enum class Missing { kNothing, kTooLarge, kNoMemory } missing = Missing::kNothing;
  std::string request_id;                          ///< `X-Request-Id`, echoed or made.
  std::string_view peer;                           ///< The other end's address without its port.
  std::chrono::steady_clock::time_point received;  ///< When the head was complete.
  StreamGate* gate = nullptr;  ///< Null where streams are not possible, as in some tests.
  /// Where to take what is made of the body; null where nobody counts.
  MemoryBudget* memory = nullptr;
};

/// Answers one request. May throw: the client is then told a request id and nothing else.
/// Called from many threads at once.
using HttpHandler = std::function<void(const HttpRequest&, HttpResponse&)>;

}  // namespace writ
