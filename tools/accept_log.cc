#include "tools/accept_log.h"

#include <pwd.h>
#include <unistd.h>

#include <iostream>
#include <string_view>

#include "events/connection.h"
#include "events/log_domain.h"
#include "events/migrator.h"
#include "events/sequencer.h"
#include "service/settings_commands.h"
#include "tools/database.h"
#include "tools/exit_codes.h"
#include "tools/operate.h"
#include "tools/stop_signals.h"

namespace writ {
namespace {

/// The user of this machine who runs the program.
std::string actor() {
  const passwd* const user = getpwuid(geteuid());
  return "operator:" + (user != nullptr ? user->pw_name : std::to_string(geteuid()));
}

}  // namespace

int accept_log(const AcceptLogOptions& options) {
  const bool is_private = options.database.database_url.empty();
  check_had_service(options.database);
  if (const auto last = options.database.data_directory / "checkpoint";
      !is_private && !std::filesystem::exists(last))
    throw client::UsageError("there is no " + std::filesystem::absolute(last).string() +
                             ", the last checkpoint, to go on from: give the --data-dir of `writ "
                             "serve`");
  StopSignals signals;
  const auto tell = [](std::string_view line) { std::cerr << "writ: " << line << std::endl; };
  const ServiceDatabase database(options.database, tell, [&] { return signals.requested(); });
  migrate(with_session_settings(database.admin_connection()), database.separate_roles(), tell);
  SequencerOptions sequencer_options;
  sequencer_options.conninfo = with_session_settings(database.app_connection());
  // The settings' domain too: its read model moves with every event.
  Sequencer sequencer(sequencer_options, {settings_domain(), log_domain()});
  Connection connection(sequencer_options.conninfo);
  prepare_tile_queries(connection);
  const auto signer = make_signer(options.log, options.database.data_directory, is_private,
                                  read_tree_head(connection).log_id);
  if (!signer) throw StartError("without a --signing-key there is no checkpoint to go on from");
  const LogAcceptance done = accept_log(connection, sequencer, *signer, actor(), options.reason);
  if (done.why.empty()) {
    std::cout << "nothing to accept: the log continues the last checkpoint\n";
  } else {
    std::cout << "accepted at position " << done.position.value << ": " << done.why << '\n';
  }
  return kSuccess;
}

}  // namespace writ
