#include "tests/acceptance/writ_process.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "tests/support/wait.h"

#ifndef WRIT_PROGRAM
#error "WRIT_PROGRAM, the path of the program under test, comes from the build"
#endif

namespace writ::test {
namespace {

constexpr std::chrono::seconds kStartLimit{60};

/// What the machine that the tests run on says must not reach the program.
ChildOptions options_of(std::vector<std::string> arguments,
                        std::map<std::string, std::string> environment) {
  return {std::move(arguments), std::move(environment), {"PG", "WRIT_"}};
}

}  // namespace

std::string writ_program() { return WRIT_PROGRAM; }

std::vector<std::string> on(const TestDatabase& database) {
  return {"--database-url", database.conninfo({{"user", "writ_app"}}), "--migrate-url",
          database.conninfo()};
}

WritProcess::WritProcess(std::vector<std::string> arguments,
                         std::map<std::string, std::string> environment)
    : WritProcess(std::move(arguments), std::move(environment), kDoNotWait) {
  await_serving();
}

WritProcess::WritProcess(std::vector<std::string> arguments,
                         std::map<std::string, std::string> environment, DoNotWait) {
  std::vector<std::string> all{writ_program(), "serve"};
  if (std::find(arguments.begin(), arguments.end(), "--listen") == arguments.end())
    all.insert(all.end(), {"--listen", "127.0.0.1:0"});
  all.insert(all.end(), arguments.begin(), arguments.end());
  child_ = std::make_unique<Child>(options_of(std::move(all), std::move(environment)));
}

void WritProcess::await_serving() {
  const std::regex serving("serving http://\\S+:(\\d+)\n");
  const bool decided = wait_until(
      [&] {
        std::smatch match;
        const std::string said = log();
        if (std::regex_search(said, match, serving))
          port_ = static_cast<std::uint16_t>(std::stoi(match[1]));
        return port_ != 0 || !child_->running();
      },
      kStartLimit);
  if (port_ == 0)
    throw std::runtime_error(
        std::string(decided ? "writ ended instead of serving: " : "writ does not serve in time: ") +
        log());
}

long WritProcess::memory_kib(const std::string& name) const {
  std::ifstream file("/proc/" + std::to_string(pid()) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
  return 0;
}

std::string WritProcess::news() const {
  std::string news;
  std::istringstream lines(log());
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with('{')) news += line + "\n";
  return news;
}

bool WritProcess::await_log(const std::string& words) const {
  return wait_until([&] { return log().find(words) != std::string::npos; }, kStartLimit);
}

int WritProcess::stop(std::chrono::milliseconds limit) {
  signal(SIGTERM);
  return wait(limit);
}

int WritProcess::wait(std::chrono::milliseconds limit) { return child_->wait(limit).value_or(-1); }

void WritProcess::kill_hard() {
  child_->signal(SIGKILL);
  child_->wait(std::chrono::seconds(10));
}

WritRun run_writ(std::vector<std::string> arguments, std::map<std::string, std::string> environment,
                 std::chrono::milliseconds limit) {
  arguments.insert(arguments.begin(), writ_program());
  Child child(options_of(std::move(arguments), std::move(environment)));
  WritRun run;
  run.status = child.wait(limit).value_or(-1);
  run.out = child.standard_output();
  run.err = child.standard_error();
  return run;
}

}  // namespace writ::test
