#include "service/http_format.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace writ {
namespace {

// cpp-httplib gives its pre-routing hook no way to tell which call it belongs to but the thread.
struct Call {
  HttpResponse* response;
  const AnswerForm* form;
  ByteSink* sink;
};
thread_local Call* current_call = nullptr;

// Hands the engine a head, and takes what it writes.
class SinkStream : public httplib::Stream {
 public:
  SinkStream(std::string_view head, ByteSink& sink) : head_(head), sink_(sink) {}

  bool is_readable() const override { return !head_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t n = std::min(size, head_.size());
    std::memcpy(to, head_.data(), n);
    head_.remove_prefix(n);
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    sink_.append({bytes, size});
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return 0; }

 private:
  std::string_view head_;
  ByteSink& sink_;
};

class PieceWriter : public StreamWriter {
 public:
  PieceWriter(httplib::DataSink& pieces, ByteSink& sink) : pieces_(pieces), sink_(sink) {}
  bool write(std::string_view bytes) override {
    return bytes.empty() || (pieces_.write(bytes.data(), bytes.size()) && sink_.flush());
  }
  bool alive() override { return sink_.alive(); }

 private:
  httplib::DataSink& pieces_;
  ByteSink& sink_;
};

void set_stream(HttpResponse& from, bool chunked, ByteSink& sink, httplib::Response& to) {
  const auto provider = [&from, &sink](std::size_t, httplib::DataSink& pieces) {
    sink.flush();
    PieceWriter writer(pieces, sink);
    from.stream(writer);
    pieces.done();
    return true;
  };
  if (chunked) {
    to.set_chunked_content_provider(from.content_type, provider);
  } else {
    to.set_content_provider(from.content_type, provider);
  }
}

// Whatever a handler put into a header, it stays one header.
std::string one_line(std::string value) {
  std::replace_if(value.begin(), value.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  return value;
}

void fill(httplib::Response& to) {
  const Call& call = *std::exchange(current_call, nullptr);
  HttpResponse& from = *call.response;
  to.status = from.status;
  for (auto& [name, value] : from.headers) to.headers.emplace(std::move(name), one_line(std::move(value)));
  if (from.stream) {
    set_stream(from, call.form->chunked, *call.sink, to);
  } else {
    to.body = std::move(from.body);
    if (!from.content_type.empty()) to.headers.emplace("Content-Type", std::move(from.content_type));
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

  void write(Call& call) {
    const std::string_view head =
        call.form->head_only ? "HEAD / HTTP/1.1\r\n\r\n" : "GET / HTTP/1.1\r\n\r\n";
    SinkStream stream(head, *call.sink);
    bool closed = false;
    current_call = &call;
    process_request(stream, call.form->close, closed, nullptr);
  }
};

HttpFormatter::HttpFormatter(std::chrono::seconds keep_alive)
    : engine_(std::make_unique<Engine>(keep_alive)) {}

HttpFormatter::~HttpFormatter() = default;

void HttpFormatter::write(HttpResponse& response, const AnswerForm& form, ByteSink& sink) const {
  Call call{&response, &form, &sink};
  engine_->write(call);
}

}  // namespace writ
