#include "service/http_format.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace writ {
namespace {

enum class Body { kWhole, kChunked, kUntilClose };

// cpp-httplib gives its pre-routing hook no way to tell which call it belongs to but the thread.
struct Call {
  HttpResponse& response;
  const AnswerForm& form;
  Body body;
  std::string* out;
};
thread_local Call* current_call = nullptr;

// Hands the engine a head, and takes what it writes.
class TextStream : public httplib::Stream {
 public:
  TextStream(std::string_view head, std::string* out) : head_(head), out_(out) {}

  bool is_readable() const override { return !head_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t n = std::min(size, head_.size());
    std::memcpy(to, head_.data(), n);
    head_.remove_prefix(n);
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    out_->append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return 0; }

 private:
  std::string_view head_;
  std::string* out_;
};

// Whatever a handler put into a header, it stays one header.
std::string one_line(std::string value) {
  const auto breaks = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
  std::replace_if(value.begin(), value.end(), breaks, ' ');
  return value;
}

void fill(httplib::Response& to) {
  const Call& call = *std::exchange(current_call, nullptr);
  HttpResponse& from = call.response;
  to.status = from.status;
  for (auto& [name, value] : from.headers) {
    to.headers.emplace(std::move(name), one_line(std::move(value)));
  }
  // A provider that fails at once leaves the head alone in the output, which is what is wanted.
  const auto nothing = [](std::size_t, httplib::DataSink&) { return false; };
  switch (call.body) {
    case Body::kWhole:
      to.body = std::move(from.body);
      if (!from.content_type.empty()) {
        to.headers.emplace("Content-Type", std::move(from.content_type));
      }
      break;
    case Body::kChunked:
      to.set_chunked_content_provider(from.content_type, nothing);
      break;
    case Body::kUntilClose:
      to.set_content_provider(from.content_type, nothing);
      break;
  }
}

}  // namespace

class HttpFormatter::Engine : public httplib::Server {
 public:
  explicit Engine(std::chrono::seconds keep_alive) {
    svr_sock_ = 0;  // never used as a socket; the library only looks whether there is one
    set_keep_alive_timeout(keep_alive.count());
    set_keep_alive_max_count(1'000'000);
    set_pre_routing_handler([](const httplib::Request&, httplib::Response& response) {
      fill(response);
      return HandlerResponse::Handled;
    });
  }

  void write(Call call) {
    const std::size_t begin = call.out->size();
    // Also for HEAD, to which the library would offer ranges.
    TextStream stream("GET / HTTP/1.1\r\n\r\n", call.out);
    bool closed = false;
    current_call = &call;
    process_request(stream, call.form.close, closed, nullptr);
    current_call = nullptr;
    if (call.form.head_only) call.out->resize(call.out->find("\r\n\r\n", begin) + 4);
  }
};

HttpFormatter::HttpFormatter(std::chrono::seconds keep_alive)
    : engine_(std::make_unique<Engine>(keep_alive)) {}

HttpFormatter::~HttpFormatter() = default;

void HttpFormatter::write(HttpResponse& response, const AnswerForm& form, std::string* out) const {
  engine_->write({response, form, Body::kWhole, out});
}

void HttpFormatter::write_stream_head(HttpResponse& response, const AnswerForm& form, bool chunked,
                                      std::string* out) const {
  engine_->write({response, form, chunked ? Body::kChunked : Body::kUntilClose, out});
}

}  // namespace writ
