#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <string>
#include <thread>
#include <vector>

#include "service/cors.h"
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
  const std::string text = metrics_text(metrics.Collect());
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
       }) {
    BOOST_TEST(text.find(line) != std::string::npos, line);
  }
}

BOOST_AUTO_TEST_CASE(there_is_a_bound_on_what_is_counted_apart) {
  RequestMetrics metrics;
  constexpr int kRoutes = 10'000;
  for (int i = 0; i < kRoutes; ++i) metrics.observe(record("/" + std::to_string(i), "ok", 1));
  const auto counts = metrics.Collect()[0].metric;
  BOOST_TEST(counts.size() == RequestMetrics::kMostSeries + 1);
  double sum = 0;
  for (const auto& metric : counts) sum += metric.counter.value;
  BOOST_TEST(sum == kRoutes);
  const std::string others =
      "{route=\"other\",code=\"other\"} " + std::to_string(kRoutes - RequestMetrics::kMostSeries);
  const std::string text = metrics_text(metrics.Collect());
  BOOST_TEST(text.find("writ_requests_total" + others + "\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(requests_are_counted_by_many_threads_at_once) {
  RequestMetrics metrics;
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n)
        metrics.observe(record("/" + std::to_string(n % 50), "ok", 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto families = metrics.Collect();
  BOOST_TEST(families[0].metric.size() == 50U);
  for (std::size_t i = 0; i < families[0].metric.size(); ++i) {
    BOOST_TEST(families[0].metric[i].counter.value == kThreads * kEach / 50);
    BOOST_TEST(families[1].metric[i].histogram.sample_sum == kThreads * kEach / 50 * 0.001,
               boost::test_tools::tolerance(1e-9));
  }
}

BOOST_AUTO_TEST_CASE(the_state_of_the_connections_is_told) {
  HttpServerState state;
  state.connections = 7;
  state.turned_away = 3;
  state.body_memory = 4'194'304;
  const std::string text = metrics_text(server_metrics(state));
  for (const char* line :
       {"# HELP writ_connections Open connections.\n", "# TYPE writ_connections gauge\n",
        "\nwrit_connections 7\n", "# TYPE writ_connections_turned_away_total counter\n",
        "\nwrit_connections_turned_away_total 3\n", "\nwrit_body_memory_bytes 4194304\n"}) {
    BOOST_TEST(text.find(line) != std::string::npos, line);
  }
}

BOOST_AUTO_TEST_CASE(an_origin_is_what_browsers_send) {
  for (const char* origin :
       {"http://localhost", "http://localhost:8080", "https://console.example", "http://10.0.0.1:1",
        "https://a-b.c_d.example:65535", "http://[::1]:8080", "https://[2001:db8::1]",
        "https://xn--bcher-kva.example", "http://a:443", "https://a:80"}) {
    BOOST_TEST(is_origin(origin), origin);
  }
  for (const char* other : {"",
                            "*",
                            "null",
                            "localhost",
                            "localhost:8080",
                            "http://",
                            "https://:80",
                            "ftp://a",
                            "HTTP://a",
                            "http://A",
                            "http://a/",
                            "http://a/b",
                            "http://a?b",
                            "http://a#b",
                            "http://a:",
                            "http://a:0",
                            "http://a:080",
                            "http://a:65536",
                            "http://a:x",
                            "http://a:80",
                            "https://a:443",
                            "http://u@a",
                            "http://a b",
                            "http://a,http://b",
                            "http://[::1",
                            "http://::1",
                            "http://[]",
                            "http://[::1]x",
                            "file:///a"}) {
    BOOST_TEST(!is_origin(other), other);
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
