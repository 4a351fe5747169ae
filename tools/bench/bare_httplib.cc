// The baseline of tools/bench/http: a cpp-httplib server with one route that answers fixed bytes,
// tuned as well as the library allows.
//
//   bare_httplib PORT PATH CONTENT-TYPE BODY [HEADER VALUE]...

#include <httplib.h>

#include <cstdlib>
#include <iostream>
#include <limits>
#include <string>

namespace {

constexpr std::size_t kThreads = 128;
constexpr time_t kAnHour = 3600;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: bare_httplib PORT PATH CONTENT-TYPE BODY [HEADER VALUE]...\n";
    return 2;
  }
  const std::string path = argv[2];
  const std::string type = argv[3];
  const std::string body = argv[4];
  httplib::Headers headers;
  for (int i = 5; i + 1 < argc; i += 2) headers.emplace(argv[i], argv[i + 1]);

  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_keep_alive_max_count(std::numeric_limits<std::size_t>::max());
  server.set_keep_alive_timeout(kAnHour);
  server.set_tcp_nodelay(true);
  server.set_default_headers(headers);
  server.Post(path, [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(body, type);
  });
  return server.listen("127.0.0.1", std::atoi(argv[1])) ? 0 : 1;
}
