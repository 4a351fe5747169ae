#include "service/http_connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>

#include "service/http_body.h"
#include "service/http_error.h"
#include "service/request_id.h"

namespace writ {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kFirstCapacity = 4 * 1024;
constexpr std::size_t kLeastRead = 1024;
constexpr std::size_t kChunkedRead = 4 * 1024;
constexpr std::size_t kKeptCapacity = 32 * 1024;  // what an idle connection may hold on to
// A client that moves at least this many bytes a second is not late, however large its body or its
// answer is.
constexpr std::int64_t kSlowestPace = 64 * 1024;
constexpr milliseconds kLinger{2'000};

void forget(HttpResponse& response) {
  RequestRecord record = std::move(response.record);
  response = HttpResponse{};
  response.record = std::move(record);
}

}  // namespace

HttpConnection::HttpConnection(int fd, std::string peer, ConnectionEnvironment& environment)
    : environment_(environment),
      socket_(fd),
      peer_(std::move(peer)),
      input_(new char[kFirstCapacity]),
      capacity_(kFirstCapacity),
      since_(steady_clock::now().time_since_epoch().count()) {
  socket_.set_patience(environment.options.head_time);
}

void HttpConnection::evict() {
  evicted_.store(true);
  if (phase_.load() == Phase::kSending) {
    socket_.shut_both();
  } else {
    socket_.shut_reading();
  }
}

bool HttpConnection::late(Deadline now) const {
  switch (phase_.load()) {
    case Phase::kIdle:
    case Phase::kBusy:
      return false;
    case Phase::kReadingHead:
    case Phase::kReadingBody:
    case Phase::kSending:
      break;
  }
  return waiting_since() + environment_.options.late_time < now;
}

HttpConnection::Stake HttpConnection::stake(Deadline now) const {
  const bool waited_long = waiting_since() + environment_.options.crowded_time <= now;
  switch (phase_.load()) {
    case Phase::kIdle:
      return waited_long ? Stake::kNothing : Stake::kFirstWord;
    case Phase::kReadingHead:
    case Phase::kReadingBody:
      if (late(now)) return Stake::kNothing;
      return waited_long ? Stake::kHalfSaid : Stake::kAll;
    case Phase::kSending:
      return late(now) ? Stake::kAnswer : Stake::kAll;
    case Phase::kBusy:
      break;
  }
  return Stake::kAll;
}

void HttpConnection::begin_wait(Phase phase) {
  since_.store(steady_clock::now().time_since_epoch().count());
  phase_.store(phase);
}

// Each byte excuses some of the wait, so that only who falls behind the slowest pace becomes late.
void HttpConnection::excuse(std::size_t bytes) {
  const auto excused =
      std::chrono::nanoseconds(1'000'000'000 / kSlowestPace * static_cast<std::int64_t>(bytes));
  since_.store(std::min(steady_clock::now(), waiting_since() + excused).time_since_epoch().count());
}

void HttpConnection::serve() {
  Outcome outcome = Outcome::kNextRequest;
  while (outcome == Outcome::kNextRequest) {
    outcome = serve_request();
    if (outcome == Outcome::kNextRequest) tidy();
  }
  if (outcome == Outcome::kCloseGently) {
    drop_body();
    begin_wait(Phase::kIdle);
    socket_.linger(steady_clock::now() + (environment_.stopping ? kLinger / 10 : kLinger));
  }
}

HttpConnection::Outcome HttpConnection::serve_request() {
  phase_.store(Phase::kIdle);
  // After the phase: `stop` sets the flag before it looks at phases, so one sees the other.
  if (must_end()) return Outcome::kClose;
  HttpRefusal refusal{};
  switch (read_head(&refusal)) {
    case Arrival::kWhole:
      break;
    case Arrival::kGone:
      return Outcome::kClose;
    default:
      return refuse(refusal, "-");
  }
  phase_.store(Phase::kBusy);
  request_.body = {};
  request_.missing = HttpRequest::Missing::kNothing;
  request_.memory = &environment_.memory;
  request_.peer = peer_;
  request_.received = steady_clock::now();
  const auto bad = parse_request_head(unread().substr(0, head_size_), environment_.options.limits,
                                      &request_.head);
  if (bad) return refuse(*bad, "-");
  request_.request_id = request_id_for(request_.head.field("X-Request-Id"));
  const Arrival arrival = read_body();
  phase_.store(Phase::kBusy);
  switch (arrival) {
    case Arrival::kGone:
      return Outcome::kClose;
    case Arrival::kLate:
      return refuse({408, "the request body did not arrive in time"},
                    std::string(request_.head.method));
    case Arrival::kMalformed:
      return refuse({400, "malformed chunked body"}, std::string(request_.head.method));
    case Arrival::kTooLarge:
      request_.missing = HttpRequest::Missing::kTooLarge;
      break;
    case Arrival::kNoMemory:
      request_.missing = HttpRequest::Missing::kNoMemory;
      drop_body();
      environment_.short_of_memory();
      break;
    case Arrival::kWhole:
      break;
  }
  return answer();
}

HttpConnection::Arrival HttpConnection::read_head(HttpRefusal* refusal) {
  HeadScanner scanner(environment_.options.limits);
  Deadline deadline{};
  while (true) {
    if (unread().substr(0, 2) == "\r\n") begin_ += 2;  // RFC 9112 section 2.2
    if (!unread().empty() && unread() != "\r") {
      const HeadScanner::Result result = scanner.scan(unread());
      head_size_ = result.size;
      if (result.refusal) {
        *refusal = *result.refusal;
        return Arrival::kMalformed;
      }
      if (result.size > 0) return Arrival::kWhole;
    }
    if (deadline == Deadline{} && !unread().empty()) {
      begin_wait(Phase::kReadingHead);
      deadline = waiting_since() + environment_.options.head_time;
    }
    grow(kLeastRead);
    char* const to = input_.get() + end_;
    const std::size_t room = capacity_ - end_;
    const Socket::Received received = unread().empty() ? socket_.receive_patiently(to, room)
                                                       : socket_.receive(to, room, deadline);
    end_ += received.size;
    if (received.status == Socket::Status::kOk) continue;
    *refusal = {408, "the request head did not arrive in time"};
    const bool late = received.status == Socket::Status::kTimeout && !unread().empty();
    return late ? Arrival::kLate : Arrival::kGone;
  }
}

HttpConnection::Arrival HttpConnection::read_body() {
  const Deadline deadline = request_.received + environment_.options.request_time;
  used_ = head_size_;
  if (request_.head.chunked) return read_chunked_body(deadline);
  const std::uint64_t size = request_.head.content_length.value_or(0);
  if (size > environment_.options.limits.body_bytes) return Arrival::kTooLarge;
  return read_sized_body(static_cast<std::size_t>(size), deadline);
}

HttpConnection::Arrival HttpConnection::read_sized_body(std::size_t size, Deadline deadline) {
  const std::string_view have = after_head().substr(0, size);
  used_ += have.size();
  if (have.size() == size) {
    request_.body = have;
    return Arrival::kWhole;
  }
  if (!invite_body(have.size())) return Arrival::kGone;
  body_.assign(have);
  begin_wait(Phase::kReadingBody);
  std::size_t filled = have.size();
  while (filled < size) {
    if (filled == body_.size()) {
      // Doubles, so that a client gets memory only for what it really sends.
      const std::size_t room = std::min(size, std::max(filled * 2, kFirstCapacity));
      if (!make_body_room(room)) return Arrival::kNoMemory;
      body_.resize(room);
    }
    const auto received = socket_.receive(body_.data() + filled, body_.size() - filled, deadline);
    filled += received.size;
    excuse(received.size);
    if (received.status == Socket::Status::kTimeout) return Arrival::kLate;
    if (received.status == Socket::Status::kClosed) return Arrival::kGone;
  }
  request_.body = body_;
  return Arrival::kWhole;
}

HttpConnection::Arrival HttpConnection::read_chunked_body(Deadline deadline) {
  if (!invite_body(after_head().size())) return Arrival::kGone;
  if (capacity_ - begin_ - head_size_ < kChunkedRead) {
    grow(kChunkedRead);
    // The bytes may have moved; what was good once is good again.
    parse_request_head(unread().substr(0, head_size_), environment_.options.limits, &request_.head);
  }
  ChunkedDecoder decoder(environment_.options.limits.body_bytes);
  body_.clear();
  begin_wait(Phase::kReadingBody);
  while (true) {
    std::size_t consumed = 0;
    if (!make_body_room(body_.size() + after_head().size())) return Arrival::kNoMemory;
    switch (decoder.feed(after_head(), &consumed, &body_)) {
      case ChunkedDecoder::Status::kDone:
        used_ = head_size_ + consumed;
        request_.body = body_;
        return Arrival::kWhole;
      case ChunkedDecoder::Status::kBad:
        return Arrival::kMalformed;
      case ChunkedDecoder::Status::kTooLarge:
        return Arrival::kTooLarge;
      case ChunkedDecoder::Status::kMore:
        break;
    }
    end_ = begin_ + head_size_;
    const auto received = socket_.receive(input_.get() + end_, capacity_ - end_, deadline);
    end_ += received.size;
    excuse(received.size);
    if (received.status == Socket::Status::kTimeout) return Arrival::kLate;
    if (received.status == Socket::Status::kClosed) return Arrival::kGone;
  }
}

// False when the server has no memory for a body of this size.
bool HttpConnection::make_body_room(std::size_t size) {
  if (size <= body_.capacity()) return true;
  // What the string will take, while the old bytes are still there.
  const std::size_t room = std::max(size, 2 * body_.capacity());
  const bool counts = room > kKeptCapacity;
  if (counts && !environment_.memory.grow(body_memory_, body_.capacity() + room)) return false;
  body_.reserve(size);
  body_memory_.shrink(body_.capacity());
  return true;
}

void HttpConnection::drop_body() {
  request_.body = {};
  body_ = {};
  body_memory_.shrink(0);
}

// A client that waits for permission gets it, unless it did not wait.
bool HttpConnection::invite_body(std::size_t have) {
  if (!request_.head.expect_continue || have > 0) return true;
  const Deadline deadline = steady_clock::now() + environment_.options.write_time;
  return socket_.send("HTTP/1.1 100 Continue\r\n\r\n", deadline) == Socket::Status::kOk;
}

HttpConnection::Outcome HttpConnection::answer() {
  request_.gate = this;
  sent_ = 0;
  broken_ = false;
  HttpResponse response;
  run_handler(response);
  const AnswerForm form = answer_form();
  if (stream_ == Stream::kOpen) {
    if (!request_.head.http_1_0) output_.append("0\r\n\r\n");
  } else {
    add_headers(form, response);
    environment_.formatter.write(response, form, &output_);
  }
  send_output();
  const bool close = form.close || (stream_ == Stream::kOpen && request_.head.http_1_0);
  end_stream();
  log(response);
  if (broken_) return Outcome::kClose;
  if (request_.missing != HttpRequest::Missing::kNothing) return Outcome::kCloseGently;
  return close ? Outcome::kClose : Outcome::kNextRequest;
}

AnswerForm HttpConnection::answer_form() const {
  AnswerForm form;
  form.head_only = request_.head.method == "HEAD";
  form.close =
      !request_.head.keep_alive || request_.missing != HttpRequest::Missing::kNothing || must_end();
  return form;
}

// What every answer has.
void HttpConnection::add_headers(const AnswerForm& form, HttpResponse& response) const {
  response.set_header("Date", date_text());
  response.set_header("X-Request-Id", request_.request_id);
  if (request_.head.http_1_0 && !form.close) response.set_header("Connection", "keep-alive");
}

void HttpConnection::run_handler(HttpResponse& response) {
  try {
    environment_.handler(request_, response);
  } catch (const std::exception& error) {
    fail(response, error.what());
  } catch (...) {  // the boundary: told like any other
    fail(response, "an exception of unknown type");
  }
}

void HttpConnection::fail(HttpResponse& response, const std::string& what) {
  if (environment_.options.log_failure) {
    environment_.options.log_failure(request_.request_id, what);
  }
  // A stream that fails half-way: only closing the connection tells the client so.
  if (stream_ == Stream::kOpen) broken_ = true;
  forget(response);
  fill_error(500, "internal error, request id " + request_.request_id, response);
}

bool HttpConnection::send_output() {
  if (!broken_) {
    const Deadline deadline = steady_clock::now() + environment_.options.write_time;
    const auto before_wait = [this](std::size_t bytes) {
      if (phase_.load() == Phase::kSending) {
        excuse(bytes);
      } else {
        begin_wait(Phase::kSending);
      }
    };
    broken_ = socket_.send(output_, deadline, before_wait) != Socket::Status::kOk;
    phase_.store(Phase::kBusy);
    // Nobody will take the rest; the system shall not keep it.
    if (broken_) socket_.reset_on_close();
    sent_ += output_.size();
  }
  output_.clear();
  return !broken_;
}

bool HttpConnection::reserve() {
  if (stream_ != Stream::kNone) return true;
  // At most half of the connections, so that streams never shut out ordinary requests.
  const std::size_t places = std::max<std::size_t>(environment_.options.max_connections / 2, 1);
  if (environment_.streams.fetch_add(1) >= places) {
    environment_.streams.fetch_sub(1);
    return false;
  }
  stream_ = Stream::kReserved;
  return true;
}

StreamWriter& HttpConnection::open(HttpResponse& head) {
  if (stream_ == Stream::kNone) environment_.streams.fetch_add(1);
  stream_ = Stream::kOpen;
  const bool chunked = !request_.head.http_1_0;
  AnswerForm form = answer_form();
  form.close = form.close || !chunked;
  add_headers(form, head);
  environment_.formatter.write_stream_head(head, form, chunked, &output_);
  socket_.watch_peer();
  return *this;
}

bool HttpConnection::write(std::string_view bytes) {
  if (bytes.empty()) return !broken_;
  const bool chunked = !request_.head.http_1_0;
  if (chunked) {
    std::array<char, 16> size{};
    const auto end = std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16).ptr;
    output_.append(size.data(), end).append("\r\n");
  }
  output_.append(bytes);
  if (chunked) output_.append("\r\n");
  return send_output();
}

void HttpConnection::end_stream() {
  if (stream_ != Stream::kNone) environment_.streams.fetch_sub(1);
  stream_ = Stream::kNone;
}

HttpConnection::Outcome HttpConnection::refuse(const HttpRefusal& refusal, std::string method) {
  phase_.store(Phase::kBusy);
  if (method == "-") {
    request_.request_id = request_id_for("");
    request_.received = steady_clock::now();
  }
  request_.body = {};
  HttpResponse response;
  fill_error(refusal.status, refusal.message, response);
  response.record.method = std::move(method);
  AnswerForm form;
  form.close = true;
  add_headers(form, response);
  sent_ = 0;
  broken_ = false;
  environment_.formatter.write(response, form, &output_);
  send_output();
  log(response);
  return broken_ ? Outcome::kClose : Outcome::kCloseGently;
}

void HttpConnection::log(HttpResponse& response) const {
  if (!environment_.options.log) return;
  RequestRecord& record = response.record;
  if (record.method.empty()) record.method = request_.head.method;
  if (record.route.empty()) record.route = "-";
  record.request_id = request_.request_id;
  record.peer = peer_;
  record.status = response.status;
  record.duration = steady_clock::now() - request_.received;
  record.request_bytes = request_.body.size();
  record.response_bytes = sent_;
  environment_.options.log(record);
}

// Between two requests: forgets the last one, and memory only a large one needed.
void HttpConnection::tidy() {
  begin_ += used_;
  head_size_ = used_ = 0;
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ == end_ && capacity_ > kKeptCapacity) {
    input_.reset(new char[kFirstCapacity]);
    capacity_ = kFirstCapacity;
  }
  if (body_.capacity() > kKeptCapacity) drop_body();
  if (output_.capacity() > kKeptCapacity) output_ = {};
  if (!seasoned_) socket_.set_patience(environment_.options.idle_time);
  seasoned_ = true;
  begin_wait(Phase::kIdle);
}

// Makes room for more bytes after end_, at first by moving what is there to the front.
void HttpConnection::grow(std::size_t free_bytes) {
  if (capacity_ - end_ >= free_bytes) return;
  const std::size_t size = end_ - begin_;
  if (capacity_ - size < free_bytes) {
    const std::size_t capacity = std::max(capacity_ * 2, size + free_bytes);
    std::unique_ptr<char[]> larger(new char[capacity]);
    std::memcpy(larger.get(), input_.get() + begin_, size);
    input_ = std::move(larger);
    capacity_ = capacity;
  } else {
    std::memmove(input_.get(), input_.get() + begin_, size);
  }
  begin_ = 0;
  end_ = size;
}

std::string busy_answer(const ConnectionEnvironment& environment) {
  HttpResponse response;
  fill_error(503, "all connections are busy", response);
  response.set_header("Retry-After", "1");
  response.set_header("X-Request-Id", request_id_for(""));
  AnswerForm form;
  form.close = true;
  std::string out;
  environment.formatter.write(response, form, &out);
  return out;
}

}  // namespace writ
