#pragma once

#include <functional>
#include <memory>
#include <string>

#include "events/private_postgres.h"
#include "tools/options.h"

namespace writ {

/// The database that the options name: the private PostgreSQL, which lives as long as this object,
/// or one of the operator's own.
class ServiceDatabase {
 public:
  /// Returns once the database accepts connections. `progress` gets lines for the operator;
  /// `cancelled` gives up. Throws StartError.
  ServiceDatabase(const DatabaseOptions& options, Progress progress,
                  std::function<bool()> cancelled);

  /// Connection string for the tables' owner.
  const std::string& admin_connection() const { return admin_connection_; }

  /// Connection string for serving.
  const std::string& app_connection() const { return app_connection_; }

  /// Nobody writes any more: the private PostgreSQL may begin to stop, which ends all connections.
  void begin_stop() const noexcept {
    if (private_) private_->begin_stop();
  }

  /// False when one role migrates and serves: append-only then rests on the triggers alone.
  bool separate_roles() const { return admin_connection_ != app_connection_; }

 private:
  std::unique_ptr<PrivatePostgres> private_;
  std::string admin_connection_;
  std::string app_connection_;
};

}  // namespace writ
