#include "tests/tools/middle_man.h"

#include <httplib.h>

#include <thread>

namespace writ::test {

std::string MiddleMan::Request::header(const std::string& name) const {
  for (const auto& [key, value] : headers)
    if (!httplib::detail::ci()(key, name) && !httplib::detail::ci()(name, key)) return value;
  return "";
}

struct MiddleMan::Impl {
  Impl(std::uint16_t writ, Before before_in) : to_writ(writ), before(std::move(before_in)) {
    server.Post(".*",
                [this](const httplib::Request& in, httplib::Response& out) { pass(in, out); });
    port = server.bind_to_any_port("127.0.0.1");
    thread = std::thread([this] { server.listen_after_bind(); });
    while (!server.is_running()) std::this_thread::yield();
  }

  void pass(const httplib::Request& in, httplib::Response& out) {
    const Request request{in.path, {in.headers.begin(), in.headers.end()}, in.body};
    const Answer instead = before(request);
    for (const auto& [name, value] : instead.headers) out.set_header(name, value);
    out.status = instead.status;
    if (!instead.type.empty()) return out.set_content(instead.body, instead.type);
    httplib::Client client("127.0.0.1", to_writ);
    httplib::Headers headers;
    for (const auto& [name, value] : in.headers)
      if (name != "Host" && name != "Content-Length" && name != "Content-Type" &&
          name != "Connection" && name != "Authorization" && !name.starts_with("REMOTE_") &&
          !name.starts_with("LOCAL_"))
        headers.emplace(name, value);
    const auto result = client.Post(in.path, headers, in.body, in.get_header_value("Content-Type"));
    if (!result) {
      out.status = 502;
      return;
    }
    out.status = result->status;
    if (instead.lost)
      return out.set_content_provider(
          std::size_t{1}, "text/plain",
          httplib::ContentProvider(
              [](std::size_t, std::size_t, httplib::DataSink&) { return false; }));
    out.set_content(result->body, result->get_header_value("Content-Type"));
  }

  std::uint16_t to_writ;
  Before before;
  httplib::Server server;
  int port = 0;
  std::thread thread;
};

MiddleMan::MiddleMan(std::uint16_t port_of_writ, Before before)
    : impl_(std::make_unique<Impl>(port_of_writ, std::move(before))) {}

MiddleMan::~MiddleMan() {
  impl_->server.stop();
  impl_->thread.join();
}

std::string MiddleMan::url() const { return "http://127.0.0.1:" + std::to_string(impl_->port); }

}  // namespace writ::test
