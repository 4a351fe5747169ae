#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "service/http_message.h"
#include "service/listen_address.h"

namespace writ {

struct HttpServerOptions {
  ListenAddress listen;
  HttpLimits limits;
  std::size_t max_connections = 1024;
  /// For bodies on their way in, and for what is made of them. At least eight of the largest.
  std::size_t body_memory = 256 * 1024 * 1024;
  std::chrono::milliseconds head_time{10'000};     ///< For a request's head, from its first byte.
  std::chrono::milliseconds request_time{30'000};  ///< For a request's body.
  std::chrono::milliseconds write_time{
      30'000};  ///< For sending one answer, or one piece of a stream.
  std::chrono::milliseconds idle_time{
      60'000};  ///< Between requests; the first may take `head_time`.
  /// While all connections are taken: who is late with a head or a body, or in taking an answer, by
  /// more than this may be closed to let another in.
  std::chrono::milliseconds late_time{3'000};
  /// While all connections are taken and nobody is idle or late: who has been saying what it wants
  /// for this long, and has not come to the end, may be closed to let another in.
  std::chrono::milliseconds crowded_time{250};
  std::size_t stack_bytes = 512 * 1024;  ///< Of a connection's thread; only touched pages cost.

  /// Called after each answer was sent, from the connection's thread; unset costs nothing.
  std::function<void(const RequestRecord&)> log;
  /// Told what the client is not: the text of an exception nobody translated.
  std::function<void(std::string_view request_id, std::string_view what)> log_failure;
};

/// What the server is doing, for the metrics.
struct HttpServerState {
  std::size_t idle = 0;           ///< Of the connections, those between two requests.
  std::size_t connections = 0;    ///< Open now.
  std::size_t streams = 0;        ///< Streamed answers running now.
  std::uint64_t accepted = 0;     ///< Connections ever.
  std::uint64_t evicted = 0;      ///< Closed to let another in.
  std::uint64_t turned_away = 0;  ///< Answered 503 because all were busy.
  std::size_t body_memory = 0;    ///< Of the budget, in use.
};

/// The HTTP/1.1 front (design: service/README.md): one thread a connection, up to a limit, every
/// wait under a deadline, every size under a limit. It reads and checks whole requests, calls the
/// handler, and sends the answer in one piece.
///
/// **Who is not yet heard gives way.** When all places are taken, a new client takes the place of
/// the one that loses least by it (`HttpConnection::Stake`): at first among those of the peer that
/// holds more than half of all places, if there is one, and there of the one that has kept us
/// waiting for longest. A handler that runs is never disturbed.
class HttpServer {
 public:
  HttpServer(HttpServerOptions options, HttpHandler handler);
  /// Stops without grace.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Binds, listens and returns; requests are served from now on. Throws ListenError. Once only.
  void start();

  /// Where it really listens, after `start`.
  const ListenAddress& address() const;

  /// Stops accepting, closes idle connections, lets requests in flight finish for up to `grace`,
  /// then cuts them off, and returns when every thread is gone. Safe from any thread but a
  /// handler's; again is harmless.
  void stop(std::chrono::milliseconds grace);

  HttpServerState state() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace writ
