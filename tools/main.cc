#include <csignal>
#include <exception>
#include <iostream>
#include <variant>

#include "tools/options.h"
#include "tools/serve.h"

namespace writ {
namespace {

int run(const ServeOptions& options) { return serve(options); }

int run(const Task& task) { return task.run(); }

int run(const Answer& answer) {
  (answer.exit_code == kSuccess ? std::cout : std::cerr) << answer.text;
  return answer.exit_code;
}

}  // namespace
}  // namespace writ

int main(int argc, char** argv) {
  // A client that hangs up is an error code, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return std::visit([](const auto& command) { return writ::run(command); },
                      writ::parse_command_line(argc, argv));
  } catch (const std::exception& e) {
    std::cerr << "writ: " << e.what() << std::endl;
    return writ::kFailure;
  }
}
