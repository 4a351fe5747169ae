#pragma once

#include <memory>
#include <string>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "tools/client/api.h"
#include "tools/command.h"

namespace writ::client {

/// How answers are printed.
enum class Output {
  kTable,  ///< For people.
  kJson,   ///< The API's own JSON, a line a message.
  kYaml,   ///< The same as YAML, `---` in front of each message after the first.
};

/// What the client commands have in common.
struct ClientOptions {
  std::string url = "http://127.0.0.1:8080";
  Output output = Output::kTable;
  std::string domain, project;
  std::string reason;

  flyteidl2::settings::SettingsKey key() const;
  /// The scope as people say it.
  std::string scope() const;
};

/// `--url` and `--output`.
void add_connection_options(CLI::App& command, ClientOptions& options);
/// `--domain` and `--project`.
void add_scope_options(CLI::App& command, ClientOptions& options);
/// `--reason`.
void add_reason_option(CLI::App& command, ClientOptions& options);

/// Connects as the options and WRIT_TOKEN say.
std::unique_ptr<Api> connect(const ClientOptions& options);

/// Runs one command: what it throws becomes lines on standard error and an exit code of
/// tools/exit_codes.h.
int report(const std::function<int()>& command);

/// Adds a client command whose action runs under `report`. Its options outlive the parse.
template <class Options>
CLI::App& add_client_command(CommandSet& commands, const std::string& name,
                             const std::string& about, const std::shared_ptr<Options>& options,
                             int (*run)(const Options&)) {
  CLI::App& command =
      commands.add(name, about, [options, run] { return report([&] { return run(*options); }); });
  add_connection_options(command, *options);
  return command;
}

}  // namespace writ::client
