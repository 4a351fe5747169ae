#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tools/cli_fwd.h"
#include "tools/client/api.h"
#include "tools/options.h"

namespace writ {

/// Where an operator's command works: at a server that runs, or, without a URL, on the database
/// itself.
struct OperateOptions {
  DatabaseOptions database = {};
  std::string url;
};

/// Adds `--url` and the options of the database; one of these on the command line wins over
/// WRIT_URL.
void add_operate_options(CLI::App& command, OperateOptions& options);

/// Connects to the server of `url` with the token in WRIT_TOKEN.
std::unique_ptr<client::Api> connect_as_operator(const std::string& url);

/// Refuses the data directory of a private PostgreSQL that no service has made one in: elsewhere it
/// would be made, here it is the wrong one. Throws client::UsageError.
void check_had_service(const DatabaseOptions& options);

/// Makes the database ready and calls `work` with a connection string for serving, session settings
/// included, and a function that throws once the user wants to stop, `stopped` being the reason.
/// Throws what `check_had_service` throws, and StartError, for a private PostgreSQL that is in use
/// with what to do instead.
void on_database(const DatabaseOptions& options, const std::string& stopped,
                 const std::function<void(const std::string& serving,
                                          const std::function<void()>& check_stop)>& work);

/// Prints `wrong: FINDING`, the last line of what checks a log, and answers its exit code. The
/// finding may have texts of whoever wrote what is checked.
int tell_wrong(const std::string& finding);

}  // namespace writ
