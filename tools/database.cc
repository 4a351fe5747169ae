#include "tools/database.h"

#include <thread>
#include <utility>

#include "events/connection.h"
#include "events/errors.h"

namespace writ {
namespace {

constexpr std::chrono::milliseconds kRetryDelay{250};

/// Waits until a connection succeeds; a service may start before its database does.
void wait_for(const std::string& connection, std::chrono::seconds timeout, const Progress& progress,
              const std::function<bool()>& cancelled) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const std::string complete = with_session_settings(connection);
  std::string last;
  for (;;) {
    try {
      const Connection probe(complete);
      return;
    } catch (const ConnectionLost& e) {
      if (std::chrono::steady_clock::now() >= deadline)
        throw StartError("cannot reach the database within " + std::to_string(timeout.count()) +
                         " s: " + e.what());
      if (last != e.what()) progress(std::string("waiting for the database: ") + e.what());
      last = e.what();
    }
    if (cancelled()) throw StartError("interrupted while waiting for the database");
    std::this_thread::sleep_for(kRetryDelay);
  }
}

}  // namespace

ServiceDatabase::ServiceDatabase(const DatabaseOptions& options, Progress progress,
                                 std::function<bool()> cancelled) {
  if (options.database_url.empty()) {
    private_ = std::make_unique<PrivatePostgres>(
        PrivatePostgresOptions{.data_directory = options.data_directory,
                               .startup_timeout = options.startup_timeout,
                               .progress = std::move(progress),
                               .cancelled = std::move(cancelled)});
    admin_connection_ = private_->admin_connection();
    app_connection_ = private_->app_connection();
    return;
  }
  app_connection_ = options.database_url;
  admin_connection_ = options.migrate_url.empty() ? options.database_url : options.migrate_url;
  wait_for(admin_connection_, options.startup_timeout, progress, cancelled);
}

}  // namespace writ
