#include "tools/rebuild.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "events/connection.h"
#include "events/errors.h"
#include "events/migrator.h"
#include "projections/rebuild.h"
#include "projections/settings.h"
#include "tools/database.h"
#include "tools/stop_signals.h"

namespace writ {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

void show_progress(std::int64_t done, std::int64_t head, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::cerr << (isatty(STDERR_FILENO) != 0 ? "\r" : "") << "writ: rebuild settings: " << done
            << " of " << head << " events, " << static_cast<std::int64_t>(rate) << "/s, "
            << static_cast<std::int64_t>(rate > 0 ? static_cast<double>(head - done) / rate : 0)
            << " s left";
  if (isatty(STDERR_FILENO) == 0 || done == head) std::cerr << '\n';
  std::cerr << std::flush;
}

}  // namespace

int rebuild_projection(const RebuildOptions& options) {
  if (options.projection != "settings") {
    std::cerr << "writ: there is no projection named " << options.projection
              << "; there is: settings\n";
    return kUsageError;
  }
  const bool is_private = options.database.database_url.empty();
  // Elsewhere a directory that is not there is made; here it is a slip of the pen.
  if (is_private && !std::filesystem::exists(options.database.data_directory))
    throw StartError("there is no data directory " + options.database.data_directory.string());
  StopSignals signals;
  const auto tell = [](std::string_view line) { std::cerr << "writ: " << line << std::endl; };
  const ServiceDatabase database(options.database, tell, [&] { return signals.requested(); });
  migrate(with_session_settings(database.admin_connection()), database.separate_roles(), tell);
  if (!is_private) tell("changes wait while the rebuild runs, and fail after 10 s; reads go on");
  const auto begun = Clock::now();
  const RebuildResult result =
      rebuild(with_session_settings(database.app_connection()), settings_projection(), "settings",
              std::string(kSettingsStreamPrefix), {kSettingsCreated, kSettingsUpdated},
              [&](std::int64_t done, std::int64_t head) {
                if (signals.requested()) throw StartError("interrupted; the rows are as they were");
                show_progress(done, head, seconds_since(begun));
              });
  std::cout << "rebuilt settings: " << result.rows << " rows from " << result.events << " events\n";
  return kSuccess;
}

}  // namespace writ
