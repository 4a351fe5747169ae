// A load generator for the benchmarks: keep-alive HTTP/1.1 connections on one thread, each sending
// its next request as soon as the last one is answered. Prints one JSON object with what it
// counted.
//
// Kinds of requests:
//   get     GetSettings of a random project out of --records
//   apply   ApplyRun with 10 tasks in such a project
//   update  UpdateSettings, each connection on a record of its own, which it creates first
//   seed    CreateSettings of the instance, --domains domains and --records projects, each once
//   path    GET of --path, or POST of --body to it, for a trivial route

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "flyteidl2/settings/settings_service.pb.h"
#include "schema/protojson.h"
#include "writ/apply/v1/apply.pb.h"

namespace {

using Clock = std::chrono::steady_clock;
namespace pb = flyteidl2::settings;

struct Options {
  std::string kind = "get";
  std::string host = "127.0.0.1";
  int port = 8080;
  int connections = 64;
  double seconds = 5;
  std::string codec = "json";
  int records = 10000;
  int domains = 20;
  std::string path = "/healthz";
  std::string body;
  std::string type = "application/json";
  int idle = 0;
  std::string tag = "w";
};

struct Connection {
  int fd = -1;
  int number = 0;
  std::uint64_t version = 0;
  std::string in;
  Clock::time_point sent;
};

struct Counts {
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;
  std::string first_failure;
  std::vector<float> latencies_us;
};

std::string post(const Options& options, const std::string& path, const std::string& type,
                 const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: " + options.host + "\r\nContent-Type: " + type +
         "\r\nConnect-Protocol-Version: 1\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string post(const Options& options, const std::string& method,
                 const google::protobuf::Message& message,
                 const std::string& service = "flyteidl2.settings.SettingsService") {
  const bool json = options.codec == "json";
  return post(options, "/" + service + "/" + method,
              json ? "application/json" : "application/proto",
              json ? writ::write_json(message) : message.SerializeAsString());
}

void fill(pb::Settings* settings, std::uint64_t round) {
  auto* queue = settings->mutable_run()->mutable_default_queue();
  queue->set_state(pb::SETTING_STATE_VALUE);
  queue->set_string_value("queue-" + std::to_string(round % 10));
  auto* cpu = settings->mutable_task_resource()->mutable_min()->mutable_cpu();
  cpu->set_state(pb::SETTING_STATE_VALUE);
  cpu->set_quantity_value("500m");
  auto* environment = settings->mutable_environment_variables();
  environment->set_state(pb::SETTING_STATE_VALUE);
  (*environment->mutable_map_value()->mutable_entries())["LOG_LEVEL"] = "info";
  (*environment->mutable_map_value()->mutable_entries())["REGION"] = "us-east-1";
}

void fill(pb::SettingsKey* key, const std::string& domain, const std::string& project) {
  key->set_org("acme");
  key->set_domain(domain);
  key->set_project(project);
}

/// The projects that the benchmark's seed makes: number i lies in domain i mod `domains`.
std::vector<std::string> get_requests(const Options& options) {
  std::vector<std::string> requests;
  for (int i = 0; i < options.records; ++i) {
    pb::GetSettingsRequest request;
    fill(request.mutable_key(), "d" + std::to_string(i % options.domains), "p" + std::to_string(i));
    requests.push_back(post(options, "GetSettings", request));
  }
  return requests;
}

void add(google::protobuf::RepeatedPtrField<flyteidl2::core::Resources::ResourceEntry>* list,
         flyteidl2::core::Resources::ResourceName name, const std::string& value) {
  list->Add()->set_name(name);
  list->rbegin()->set_value(value);
}

/// Every other task asks for more memory than tools/bench/apply allows; none says how much CPU.
void fill(flyteidl2::core::TaskTemplate* task, int i) {
  using flyteidl2::core::Resources;
  task->set_type("python");
  task->mutable_container()->set_image("registry.example.com/team/train:" + std::to_string(i));
  for (const char* argument : {"pyflyte-execute", "--inputs", "s3://bucket/in"})
    task->mutable_container()->add_args(argument);
  Resources& resources = *task->mutable_container()->mutable_resources();
  add(resources.mutable_requests(), Resources::MEMORY, i % 2 == 0 ? "64Gi" : "500Mi");
  if (i % 2 != 0) add(resources.mutable_limits(), Resources::MEMORY, "1Gi");
}

std::vector<std::string> apply_requests(const Options& options) {
  constexpr int kTasks = 10;
  std::vector<std::string> requests;
  for (int i = 0; i < options.records; ++i) {
    writ::apply::v1::ApplyRunRequest request;
    fill(request.mutable_key(), "d" + std::to_string(i % options.domains), "p" + std::to_string(i));
    (*request.mutable_run_spec()->mutable_labels()->mutable_values())["team"] = "blue";
    for (int j = 0; j < kTasks; ++j) fill(request.add_tasks(), j);
    requests.push_back(post(options, "ApplyRun", request, "writ.apply.v1.ApplyService"));
  }
  return requests;
}

std::string write_request(const Options& options, const Connection& connection) {
  const std::string project = options.tag + std::to_string(connection.number);
  if (connection.version == 0) {
    pb::CreateSettingsRequest request;
    fill(request.mutable_key(), "bench", project);
    fill(request.mutable_settings(), 0);
    return post(options, "CreateSettings", request);
  }
  pb::UpdateSettingsRequest request;
  fill(request.mutable_key(), "bench", project);
  fill(request.mutable_settings(), connection.version);
  request.set_version(connection.version);
  return post(options, "UpdateSettings", request);
}

/// Creates record number `i`: the instance, then the domains, then the projects. Empty after the
/// last.
std::string seed_request(const Options& options, int i) {
  pb::CreateSettingsRequest request;
  fill(request.mutable_settings(), static_cast<std::uint64_t>(i));
  const int project = i - 1 - options.domains;
  if (project >= options.records) return "";
  if (i == 0)
    fill(request.mutable_key(), "", "");
  else if (project < 0)
    fill(request.mutable_key(), "d" + std::to_string(i - 1), "");
  else
    fill(request.mutable_key(), "d" + std::to_string(project % options.domains),
         "p" + std::to_string(project));
  return post(options, "CreateSettings", request);
}

int connect_to(const Options& options) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(options.port));
  inet_pton(AF_INET, options.host.c_str(), &address.sin_addr);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error(std::string("cannot connect: ") + std::strerror(errno));
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void send_all(Connection& connection, const std::string& bytes) {
  connection.sent = Clock::now();
  if (send(connection.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error(std::string("cannot send: ") + std::strerror(errno));
}

/// True once one whole answer is in the buffer; it is then taken out and its head and body given.
bool take_answer(Connection& connection, std::string& answer) {
  const auto end = connection.in.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const auto field = connection.in.find("Content-Length: ");
  if (field == std::string::npos || field > end)
    throw std::runtime_error("an answer without Content-Length");
  const std::size_t size = end + 4 + std::stoul(connection.in.substr(field + 16, 20));
  if (connection.in.size() < size) return false;
  answer.assign(connection.in, 0, size);
  connection.in.erase(0, size);
  return true;
}

Counts run(std::vector<Connection>& connections, double seconds,
           const std::function<std::string(Connection&)>& next) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < connections.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(epoll, EPOLL_CTL_ADD, connections[i].fd, &event);
    send_all(connections[i], next(connections[i]));
  }
  Counts counts;
  std::size_t open = connections.size();
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  std::vector<epoll_event> events(connections.size());
  std::vector<char> buffer(64 * 1024);
  std::string answer;
  while (open > 0) {
    const int ready = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 10'000);
    if (ready <= 0) throw std::runtime_error("no answer within 10 s");
    const auto now = Clock::now();
    for (int i = 0; i < ready; ++i) {
      Connection& connection = connections[events[static_cast<std::size_t>(i)].data.u64];
      const ssize_t got = recv(connection.fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) throw std::runtime_error("the server closed a connection");
      connection.in.append(buffer.data(), static_cast<std::size_t>(got));
      if (!take_answer(connection, answer)) continue;
      ++counts.answered;
      counts.latencies_us.push_back(
          std::chrono::duration<float, std::micro>(now - connection.sent).count());
      if (!answer.starts_with("HTTP/1.1 200")) {
        if (counts.failed++ == 0) counts.first_failure = answer;
      } else {
        ++connection.version;
      }
      const std::string request = now < until ? next(connection) : "";
      if (request.empty())
        --open;
      else
        send_all(connection, request);
    }
  }
  close(epoll);
  return counts;
}

double percentile(std::vector<float>& values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/// Connections that are open and say nothing.
std::vector<int> idle_connections(const Options& options) {
  std::vector<int> idle;
  for (int i = 0; i < options.idle; ++i) idle.push_back(connect_to(options));
  return idle;
}

int measure(const Options& options) {
  const std::vector<int> idle = idle_connections(options);
  std::vector<Connection> connections(static_cast<std::size_t>(options.connections));
  for (std::size_t i = 0; i < connections.size(); ++i) {
    connections[i].fd = connect_to(options);
    connections[i].number = static_cast<int>(i);
  }
  std::mt19937 random(1);
  std::function<std::string(Connection&)> next;
  std::vector<std::string> gets;
  if (options.kind == "get" || options.kind == "apply") {
    gets = options.kind == "get" ? get_requests(options) : apply_requests(options);
    next = [&](Connection&) { return gets[random() % gets.size()]; };
  } else if (options.kind == "seed") {
    next = [&, i = 0](Connection&) mutable { return seed_request(options, i++); };
  } else if (options.kind == "update") {
    next = [&](Connection& connection) { return write_request(options, connection); };
    run(connections, 0, next);  // one create each
  } else {
    const std::string request =
        options.body.empty()
            ? "GET " + options.path + " HTTP/1.1\r\nHost: " + options.host + "\r\n\r\n"
            : post(options, options.path, options.type, options.body);
    next = [request](Connection&) { return request; };
  }
  const double cpu_before = cpu_seconds();
  const auto begun = Clock::now();
  Counts counts = run(connections, options.seconds, next);
  const double took = std::chrono::duration<double>(Clock::now() - begun).count();
  for (const Connection& connection : connections) close(connection.fd);
  for (const int fd : idle) close(fd);
  std::printf(
      "{\"requests\": %llu, \"failed\": %llu, \"seconds\": %.3f, \"per_second\": %.0f, \"p50_us\": "
      "%.0f, "
      "\"p99_us\": %.0f, \"client_cpu_us\": %.1f}\n",
      static_cast<unsigned long long>(counts.answered),
      static_cast<unsigned long long>(counts.failed), took,
      static_cast<double>(counts.answered) / took, percentile(counts.latencies_us, 0.5),
      percentile(counts.latencies_us, 0.99),
      (cpu_seconds() - cpu_before) * 1e6 / static_cast<double>(counts.answered));
  if (counts.failed > 0) std::fprintf(stderr, "first failure:\n%s\n", counts.first_failure.c_str());
  return counts.failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Load generator for the benchmarks");
  app.add_option("kind", options.kind, "get, apply, update, seed or path");
  app.add_option("--host", options.host, "IPv4 address on this machine");
  app.add_option("--port", options.port);
  app.add_option("--connections", options.connections);
  app.add_option("--seconds", options.seconds);
  app.add_option("--codec", options.codec, "json or proto");
  app.add_option("--records", options.records, "projects that the seed made");
  app.add_option("--domains", options.domains);
  app.add_option("--path", options.path);
  app.add_option("--body", options.body, "of kind path: POST this");
  app.add_option("--type", options.type, "content type of --body");
  app.add_option("--idle", options.idle, "silent connections beside the others");
  app.add_option("--tag", options.tag, "prefix of the records that update writes; new each run");
  CLI11_PARSE(app, argc, argv);
  try {
    return measure(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "http_load: %s\n", e.what());
    return 2;
  }
}
