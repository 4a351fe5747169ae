#include <csignal>
#include <iostream>

#include "service/request_metrics.h"
#include "tests/service/reference_service.h"

// reference_server HOST:PORT serves until SIGTERM or SIGINT, and counts its requests as the product
// does.
int main(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  writ::HttpServerOptions options;
  options.listen = writ::parse_listen_address(argc > 1 ? argv[1] : "127.0.0.1:0");
  writ::RequestMetrics metrics;
  options.log = [&](const writ::RequestRecord& record) { metrics.observe(record); };
  writ::test::ReferenceServer server(options);
  std::cout << "listening on " << server.server().address().text() << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  server.server().stop(std::chrono::seconds(5));
}
