#include <CLI/CLI.hpp>
#include <iostream>

#include "tools/client/commands.h"
#include "tools/client/point.h"
#include "tools/client/print.h"
#include "tools/exit_codes.h"

namespace writ::client {
namespace {

struct DiffOptions : ClientOptions {
  std::string from, to = "now";
  bool effective = false;
};

int diff(const DiffOptions& options) {
  audit::v1::DiffRequest request;
  *request.mutable_key() = options.key();
  *request.mutable_from() = parse_point(options.from);
  *request.mutable_to() = parse_point(options.to);
  request.set_effective(options.effective);
  const auto response = connect(options)->call<audit::v1::DiffResponse>(request);
  if (options.output != Output::kTable) {
    print_message(response, options.output);
    return kSuccess;
  }
  std::cout << painted(options.scope() + ", position " + std::to_string(response.from_position()) +
                           " to " + std::to_string(response.to_position()),
                       Colour::kBold)
            << "\n";
  if (response.leaves().empty()) std::cout << "no difference\n";
  print_changes({response.leaves().begin(), response.leaves().end()});
  return kSuccess;
}

}  // namespace

void add_diff(CommandSet& commands) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App& command =
      add_client_command(commands, "diff", "What differs between two points", options, diff);
  command.add_option("from", options->from, "One point")->type_name("A")->required();
  command.add_option("to", options->to, "The other")->type_name("B")->capture_default_str();
  add_scope_options(command, *options);
  command.add_flag("--effective", options->effective,
                   "What is in effect at the scope, instead of what it says itself");
  command.footer(std::string("A point is ") + kPointForms + ", or now.");
}

}  // namespace writ::client
