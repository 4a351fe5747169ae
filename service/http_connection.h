#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "service/http_format.h"
#include "service/http_server.h"
#include "service/socket.h"

namespace writ {

/// What all connections of a server share.
struct ConnectionEnvironment {
  ConnectionEnvironment(HttpServerOptions server_options, HttpHandler request_handler)
      : options(std::move(server_options)),
        handler(std::move(request_handler)),
        formatter(std::chrono::duration_cast<std::chrono::seconds>(options.idle_time)),
        memory(std::max(options.body_memory, kLeastBodies * options.limits.body_bytes)) {}

  /// Receiving one takes up to three times its size, of half of the budget.
  static constexpr std::size_t kLeastBodies = 8;

  const HttpServerOptions options;
  const HttpHandler handler;
  const HttpFormatter formatter;
  MemoryBudget memory;
  /// Called when a body was refused for want of memory, from its connection's thread.
  std::function<void()> short_of_memory;
  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> streams{0};
};

/// One client's connection: reads requests, has them answered, until it ends. `serve` runs on the
/// connection's thread; the functions marked so are for others.
class HttpConnection : private StreamGate, private StreamWriter {
 public:
  /// What the thread is doing; other threads only look.
  enum class Phase { kIdle, kReadingHead, kReadingBody, kBusy, kSending };

  HttpConnection(int fd, std::string peer, ConnectionEnvironment& environment);

  /// Returns when the connection has to be closed.
  void serve();

  /// Any thread: the phase, and since when the client has kept us waiting; what it sends or takes
  /// meanwhile moves that towards now. Means nothing while busy.
  Phase phase() const { return phase_.load(); }
  Deadline waiting_since() const { return Deadline(Deadline::duration(since_.load())); }
  /// Any thread: whether the client is slower than it may be when there is a shortage.
  bool late(Deadline now) const;
  /// What a client would lose if it were closed now to let another in, least first.
  enum class Stake {
    kNothing,    ///< Idle for a while, or late with what it wants.
    kHalfSaid,   ///< Has been saying what it wants for longer than one may in a crowd.
    kFirstWord,  ///< Idle, but only just: what it wants may be on its way.
    kAnswer,     ///< The answer that it is late in taking.
    kAll,        ///< It may not be closed.
  };
  /// Any thread.
  Stake stake(Deadline now) const;
  const std::string& peer() const { return peer_; }
  /// Any thread: no further request will be read. The one at hand is still answered when it has
  /// arrived; an answer that waits to be taken is cut off.
  void evict();
  bool evicted() const { return evicted_.load(); }
  /// Any thread: cuts the connection off, whatever it is doing.
  void abort() { socket_.shut_both(); }

 private:
  enum class Outcome { kNextRequest, kClose, kCloseGently };
  enum class Arrival { kWhole, kGone, kLate, kMalformed, kTooLarge, kNoMemory };

  Outcome serve_request();
  Arrival read_head(HttpRefusal* refusal);
  Arrival read_body();
  Arrival read_sized_body(std::size_t size, Deadline deadline);
  Arrival read_chunked_body(Deadline deadline);
  Outcome answer();
  Outcome refuse(const HttpRefusal& refusal, std::string method);
  void run_handler(HttpResponse& response);
  void fail(HttpResponse& response, const std::string& what);
  AnswerForm answer_form() const;
  void add_headers(const AnswerForm& form, HttpResponse& response) const;
  bool send_output();
  void end_stream();
  void log(HttpResponse& response) const;
  void tidy();
  bool must_end() const { return environment_.stopping.load() || evicted_.load(); }
  bool invite_body(std::size_t have);
  bool make_body_room(std::size_t size);
  void drop_body();
  void begin_wait(Phase phase);
  void excuse(std::size_t bytes);
  void grow(std::size_t free_bytes);

  bool reserve() override;
  StreamWriter& open(HttpResponse& head) override;
  bool write(std::string_view bytes) override;
  bool peer_open() override { return socket_.peer_open(); }
  bool stopping() override { return environment_.stopping.load(); }

  // What was read and belongs to the request at hand or to later ones.
  std::string_view unread() const { return {input_.get() + begin_, end_ - begin_}; }
  // What was read after the head at hand.
  std::string_view after_head() const { return unread().substr(head_size_); }

  ConnectionEnvironment& environment_;
  Socket socket_;
  const std::string peer_;

  // The bytes read and not yet used are input_[begin_, end_); views in request_ point there.
  std::unique_ptr<char[]> input_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t head_size_ = 0;
  std::size_t used_ = 0;  // of input_, from begin_, by the request at hand
  HttpRequest request_;
  std::string body_;  // a body that did not arrive together with its head
  MemoryBudget::Share body_memory_;
  std::string output_;
  enum class Stream { kNone, kReserved, kOpen } stream_ = Stream::kNone;
  std::size_t sent_ = 0;   // bytes of the answer at hand
  bool broken_ = false;    // sending failed
  bool seasoned_ = false;  // has answered a request

  std::atomic<Phase> phase_{Phase::kIdle};
  std::atomic<Deadline::rep> since_;
  std::atomic<bool> evicted_{false};
};

/// The whole answer for a connection there is no thread for: 503 with Retry-After.
std::string busy_answer(const ConnectionEnvironment& environment);

}  // namespace writ
