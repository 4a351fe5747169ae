#include <CLI/CLI.hpp>
#include <iostream>

#include "tools/client/commands.h"
#include "tools/client/print.h"
#include "tools/exit_codes.h"

namespace writ::client {
namespace {

struct CheckpointOptions : ClientOptions {
  bool key = false;
};

int checkpoint(const CheckpointOptions& options) {
  const auto response =
      connect(options)->call<audit::v1::GetCheckpointResponse>(audit::v1::GetCheckpointRequest());
  if (options.output != Output::kTable) {
    print_message(response, options.output);
  } else if (options.key) {
    for (const std::string& key : response.verifier_keys()) std::cout << key << '\n';
  } else {
    std::cout << response.note();
  }
  return kSuccess;
}

}  // namespace

void add_checkpoint(CommandSet& commands) {
  const auto options = std::make_shared<CheckpointOptions>();
  CLI::App& command = add_client_command(commands, "checkpoint",
                                         "What the log commits itself to now, as a signed note",
                                         options, checkpoint);
  command.add_flag("--key", options->key,
                   "The keys that check it instead, one a line: those that sign, and those before");
}

}  // namespace writ::client
