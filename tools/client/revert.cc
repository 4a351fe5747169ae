#include <CLI/CLI.hpp>
#include <iostream>

#include "schema/leaf_diff.h"
#include "tools/client/commands.h"
#include "tools/client/print.h"
#include "tools/client/record.h"
#include "tools/exit_codes.h"
#include "tools/option_checks.h"

namespace writ::client {
namespace {

struct RevertOptions : ClientOptions {
  std::uint64_t to_version = 0;
};

int revert(const RevertOptions& options) {
  const auto api = connect(options);
  const auto own = read_levels(*api, options.key()).back();
  if (own.version() == 0) {
    std::cerr << "writ: " << options.scope() << " has no record, so no version to go back to\n";
    return kExitNotFound;
  }
  audit::v1::RevertRequest request;
  *request.mutable_key() = options.key();
  request.set_to_version(options.to_version);
  request.set_version(own.version());
  audit::v1::RevertResponse response;
  try {
    response = api->call<audit::v1::RevertResponse>(request);
  } catch (const Refused& e) {
    if (!e.is_conflict()) throw;
    std::cerr << "writ: nothing was written: " << options.scope() << " was "
              << last_change(*api, options.key(), "", e.refusal())
              << "; look at it, and run this again if it still holds\n";
    return kExitConflict;
  }
  if (options.output != Output::kTable) {
    print_message(response, options.output);
    return kSuccess;
  }
  print_changes(diff_settings(own.settings(), response.settings_record().settings()));
  std::cout << options.scope() << ": version " << response.settings_record().version()
            << " says what version " << options.to_version << " said; position "
            << response.position() << "\n";
  return kSuccess;
}

}  // namespace

void add_revert(CommandSet& commands) {
  const auto options = std::make_shared<RevertOptions>();
  CLI::App& command = add_client_command(
      commands, "revert", "Put a scope back to an earlier version, as a new one", options, revert);
  command.add_option("--to-version", options->to_version, "The version to go back to")
      ->type_name("N")
      ->required()
      ->check(must_be_number(1));
  add_scope_options(command, *options);
  add_reason_option(command, *options);
}

}  // namespace writ::client
