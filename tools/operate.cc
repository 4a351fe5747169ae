#include "tools/operate.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "events/cluster_home.h"
#include "events/connection.h"
#include "events/errors.h"
#include "events/migrator.h"
#include "tools/client/printable.h"
#include "tools/database.h"
#include "tools/database_options.h"
#include "tools/exit_codes.h"
#include "tools/given_options.h"
#include "tools/stop_signals.h"

namespace writ {

void add_operate_options(CLI::App& command, OperateOptions& options) {
  command
      .add_option("--url", options.url,
                  "Have the server there do it. Without one it is done on the database itself")
      ->envname("WRIT_URL")
      ->type_name("URL");
  add_database_options(command, options.database);
  command.callback([&command, &options] {
    if (options.url.empty()) return;
    for (const char* name : {"--data-dir", "--database-url"}) {
      if (!on_command_line(command, name)) continue;
      if (on_command_line(command, "--url"))
        throw CLI::ValidationError(
            "--url", std::string("the server there works on its own database; leave out ") + name +
                         ", or --url to work on the database itself");
      options.url.clear();
    }
  });
}

std::unique_ptr<client::Api> connect_as_operator(const std::string& url) {
  const char* token = std::getenv("WRIT_TOKEN");
  return std::make_unique<client::Api>(client::Server{url, token == nullptr ? "" : token});
}

void check_had_service(const DatabaseOptions& options) {
  if (!options.database_url.empty()) return;
  if (has_cluster_traces(options.data_directory)) return;
  throw client::UsageError(
      "no service has run in the data directory " + options.data_directory.string() +
      ": there is no " + std::filesystem::absolute(cluster_note(options.data_directory)).string() +
      "; give the one of `writ serve` as --data-dir, or its database as --database-url");
}

void on_database(
    const DatabaseOptions& options, const std::string& stopped,
    const std::function<void(const std::string&, const std::function<void()>&)>& work) {
  check_had_service(options);
  StopSignals signals;
  const auto tell = [](std::string_view line) { std::cerr << "writ: " << line << std::endl; };
  try {
    const ServiceDatabase database(options, tell, [&] { return signals.requested(); });
    migrate(with_session_settings(database.admin_connection()), database.separate_roles(), tell);
    work(with_session_settings(database.app_connection()), [&] {
      if (signals.requested()) throw StartError(stopped);
    });
  } catch (const DirectoryInUse& e) {
    throw StartError(std::string(e.what()) +
                     "; have that service do it: give its address as --url http://HOST:PORT");
  }
}

int tell_wrong(const std::string& finding) {
  std::cout << "wrong: " << client::printable(finding) << std::endl;
  return kExitWrong;
}

}  // namespace writ
