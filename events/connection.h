#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <pqxx/pqxx>
#include <string>
#include <vector>

#include "events/errors.h"

namespace writ {

/// The connection was lost or could not be made. Caught inside `events/` and by readers that retry.
class ConnectionLost : public StorageUnavailable {
  using StorageUnavailable::StorageUnavailable;
};

/// Completes a connection string or URL with the session settings that every connection of the
/// service needs (durable commits, UTC, UTF-8, time-outs, `search_path`). They travel with the
/// connection, so that no reconnect can lose them. Throws StartError when the text is malformed.
std::string with_session_settings(const std::string& conninfo);

/// One PostgreSQL connection. It belongs to one thread at a time and never reconnects by itself:
/// once it fails it is thrown away. Errors are ConnectionLost or StorageError; no pqxx exception
/// leaves it.
class Connection {
 public:
  /// Connects. `conninfo` has its session settings already. Throws ConnectionLost.
  explicit Connection(const std::string& conninfo);
  ~Connection();

  /// Registers a statement to be prepared at its first use.
  void prepare(const std::string& name, const std::string& sql);

  /// Runs statements without parameters; answers the last one's rows.
  pqxx::result exec(const std::string& sql);

  /// Runs a prepared statement.
  template <typename... Args>
  pqxx::result exec_prepared(const std::string& name, const Args&... args) {
    return guarded([&](pqxx::nontransaction& work) { return work.exec_prepared(name, args...); });
  }

  /// Runs one statement with text parameters $1, $2 ….
  pqxx::result exec_params(const std::string& sql, const std::vector<std::string>& args);

  /// `text` as an SQL literal, quotes included.
  std::string quote(const std::string& text) const { return connection_->quote(text); }

  /// Subscribes to notifications on `channel`.
  void listen(const std::string& channel);

  /// Waits for a notification; false when none came in time. Several at once count as one.
  bool wait_for_notification(std::chrono::milliseconds at_most);

  /// From any thread: makes what is running on it fail with ConnectionLost, however long the
  /// database would still take.
  void cut() noexcept;

  /// False once it has failed.
  bool usable() const { return usable_ && connection_->is_open(); }

 private:
  class Listener;

  void guard(const std::function<void()>& run);
  pqxx::result guarded(const std::function<pqxx::result(pqxx::nontransaction&)>& run);

  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<Listener> listener_;  // before its connection ends
  bool usable_ = true;
};

}  // namespace writ
