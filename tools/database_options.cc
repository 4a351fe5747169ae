#include "tools/database_options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "tools/option_checks.h"

namespace writ {

void add_database_options(CLI::App& command, DatabaseOptions& options) {
  command.add_option("--data-dir", options.data_directory, "Directory of the private PostgreSQL")
      ->envname("WRIT_DATA_DIR")
      ->type_name("DIR")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.empty() ? std::string("a directory is needed") : std::string();
          },
          "", "directory"))
      ->capture_default_str();
  CLI::Option* database = command
                              .add_option("--database-url", options.database_url,
                                          "Serve from this PostgreSQL instead of a private one")
                              ->envname("WRIT_DATABASE_URL")
                              ->type_name("URL");
  command
      .add_option("--migrate-url", options.migrate_url,
                  "Connect to the same database with this to create and upgrade its tables")
      ->envname("WRIT_MIGRATE_URL")
      ->type_name("URL")
      ->needs(database);
  command
      .add_option_function<std::uint64_t>(
          "--startup-timeout",
          [&options](const std::uint64_t& seconds) {
            options.startup_timeout = std::chrono::seconds(seconds);
          },
          "Seconds to wait for the database when starting")
      ->envname("WRIT_STARTUP_TIMEOUT")
      ->type_name("SECONDS")
      ->check(must_be_number(1, 3600))
      ->default_str(std::to_string(options.startup_timeout.count()));
}

}  // namespace writ
