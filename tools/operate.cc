#include "tools/operate.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "events/connection.h"
#include "events/errors.h"
#include "events/migrator.h"
#include "tools/database.h"
#include "tools/database_options.h"
#include "tools/stop_signals.h"

namespace writ {

void add_operate_options(CLI::App& command, OperateOptions& options) {
  command
      .add_option("--url", options.url,
                  "Have the server there do it. Without one it is done on the database itself")
      ->envname("WRIT_URL")
      ->type_name("URL");
  add_database_options(command, options.database);
}

std::unique_ptr<client::Api> connect_as_operator(const std::string& url) {
  const char* token = std::getenv("WRIT_TOKEN");
  return std::make_unique<client::Api>(client::Server{url, token == nullptr ? "" : token});
}

void on_database(
    const DatabaseOptions& options, const std::string& stopped,
    const std::function<void(const std::string&, const std::function<void()>&)>& work) {
  // Elsewhere a directory that is not there is made; here it is a slip of the pen.
  if (options.database_url.empty() && !std::filesystem::exists(options.data_directory))
    throw StartError("there is no data directory " + options.data_directory.string());
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

}  // namespace writ
