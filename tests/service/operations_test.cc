#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <string>

#include "service/file_limit.h"
#include "service/request_log.h"
#include "service/request_metrics.h"

namespace writ {
namespace {

RequestRecord record(const std::string& route, const std::string& code, int milliseconds) {
  RequestRecord out;
  out.method = "POST";
  out.route = route;
  out.code = code;
  out.duration = std::chrono::milliseconds(milliseconds);
  return out;
}

BOOST_AUTO_TEST_SUITE(operations)

BOOST_AUTO_TEST_CASE(a_request_is_one_line_of_json) {
  RequestRecord entry = record("/a.B/C", "ok", 2);
  entry.key = "v1::\"production\":";
  entry.actor = "ci\n";
  entry.request_id = "r1";
  entry.peer = "127.0.0.1";
  entry.status = 200;
  entry.request_bytes = 3;
  entry.response_bytes = 5;
  BOOST_TEST(
      request_line(entry) ==
      R"({"method":"POST","route":"/a.B/C","code":"ok","status":200,"ms":2.000,"actor":"ci\n",)"
      R"("key":"v1::\"production\":","request_id":"r1","peer":"127.0.0.1","in":3,"out":5})");
}

BOOST_AUTO_TEST_CASE(requests_are_counted_and_timed_by_route_and_code) {
  RequestMetrics metrics;
  metrics.observe(record("/a", "ok", 1));
  metrics.observe(record("/a", "ok", 20));
  metrics.observe(record("/a", "not_found", 20'000));
  HttpServerState state;
  state.connections = 7;
  std::string text;
  metrics.write(state, &text);
  for (const char* line : {
           "# TYPE writ_requests_total counter\n",
           "writ_requests_total{route=\"/a\",code=\"ok\"} 2\n",
           "writ_requests_total{route=\"/a\",code=\"not_found\"} 1\n",
           "# TYPE writ_request_seconds histogram\n",
           "writ_request_seconds_bucket{route=\"/a\",code=\"ok\",le=\"0.0005\"} 0\n",
           "writ_request_seconds_bucket{route=\"/a\",code=\"ok\",le=\"0.001\"} 1\n",
           "writ_request_seconds_bucket{route=\"/a\",code=\"ok\",le=\"0.01\"} 1\n",
           "writ_request_seconds_bucket{route=\"/a\",code=\"ok\",le=\"0.025\"} 2\n",
           "writ_request_seconds_bucket{route=\"/a\",code=\"ok\",le=\"+Inf\"} 2\n",
           "writ_request_seconds_bucket{route=\"/a\",code=\"not_found\",le=\"10\"} 0\n",
           "writ_request_seconds_bucket{route=\"/a\",code=\"not_found\",le=\"+Inf\"} 1\n",
           "writ_request_seconds_sum{route=\"/a\",code=\"ok\"} 0.021\n",
           "writ_request_seconds_count{route=\"/a\",code=\"ok\"} 2\n",
           "writ_connections 7\n",
       }) {
    BOOST_TEST(text.find(line) != std::string::npos, line);
  }
}

// Runs in a child of its own, since a hard limit cannot be raised again.
std::size_t fit_under(rlim_t soft, rlim_t hard, std::size_t wanted, std::size_t reserved) {
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{soft, hard};
    setrlimit(RLIMIT_NOFILE, &limit);
    const std::size_t fit = fit_connections(wanted, reserved);
    _exit(write(ends[1], &fit, sizeof fit) == sizeof fit ? 0 : 1);
  }
  std::size_t fit = 0;
  BOOST_TEST(read(ends[0], &fit, sizeof fit) == static_cast<ssize_t>(sizeof fit));
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return fit;
}

BOOST_AUTO_TEST_CASE(connections_fit_under_the_limit_of_open_files) {
  BOOST_TEST(fit_under(64, 1000, 500, 100) == 500U, "the soft limit is raised");
  BOOST_TEST(fit_under(64, 500, 500, 100) == 400U, "the hard limit is not");
  BOOST_TEST(fit_under(64, 64, 500, 100) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
