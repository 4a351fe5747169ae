#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "writ/settings/v1/errors.pb.h"

namespace writ::client {

/// The command line asks for what makes no sense; nothing was sent.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the server said instead of an answer.
struct Refusal {
  std::string code;                     ///< Connect's, such as "not_found".
  std::string message;                  ///< For people.
  std::vector<std::string> violations;  ///< All that is wrong, the message among it.
  std::optional<settings::v1::VersionConflict> conflict;  ///< The change that won.
  bool lacks_reason = false;                              ///< There is none, or no good one.
};

/// The server refused. The text is the refusal's message.
class Refused : public std::runtime_error {
 public:
  explicit Refused(Refusal refusal)
      : std::runtime_error(refusal.message), refusal_(std::move(refusal)) {}
  const Refusal& refusal() const { return refusal_; }
  /// Whether another change came first: a newer version, or a record where there was none.
  bool is_conflict() const;

 private:
  Refusal refusal_;
};

/// Nothing that speaks for Writ is at the URL. The text names it and says what to do.
class Unreachable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The connection ended before the whole answer was there. The text says whether something may have
/// been changed.
class ConnectionLost : public Unreachable {
 public:
  using Unreachable::Unreachable;
};

/// Where the server is and who asks it.
struct Server {
  std::string url;    ///< `http://host:port`, or https; a path in front of the methods' may follow.
  std::string token;  ///< Bearer token; empty sends none.
};

/// Calls methods over the Connect protocol with binary messages. The method is the one that takes
/// the request's type. Warnings that the server sends go to standard error. For one thread, but for
/// `stop`.
class Api {
 public:
  /// Throws UsageError for a URL or a token that cannot be used. Does not connect yet.
  explicit Api(const Server& server);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// Sent as `Writ-Reason` with each call from now on. Throws UsageError when it cannot be sent.
  void set_reason(const std::string& reason);

  /// One answer. A call whose connection is lost is sent again a few times, under the same
  /// Idempotency-Key, so a write never happens twice. Throws Refused, Unreachable.
  template <class Response>
  Response call(const google::protobuf::Message& request) {
    Response response;
    call(request, &response);
    return response;
  }

  /// The answers of a server-streaming method, each given to `take`, until that answers false.
  /// Throws Refused for an end with an error, ConnectionLost for one without an end, Unreachable.
  template <class Response>
  void stream(const google::protobuf::Message& request,
              const std::function<bool(const Response&)>& take) {
    Response response;
    stream(request, &response, [&] { return take(response); });
  }

  /// From any thread: ends a call that is waiting, as if its connection were lost.
  void stop();

  const std::string& url() const { return url_; }

 private:
  struct Connection;

  void call(const google::protobuf::Message& request, google::protobuf::Message* response);
  void stream(const google::protobuf::Message& request, google::protobuf::Message* response,
              const std::function<bool()>& take);

  std::string url_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace writ::client
