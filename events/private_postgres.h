#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "events/cluster_home.h"
#include "events/postgres_binaries.h"
#include "events/process_watch.h"

namespace writ {

class Connection;
struct Postmaster;

/// What a private PostgreSQL is asked for.
struct PrivatePostgresOptions {
  std::filesystem::path data_directory = ".writ";
  std::chrono::seconds startup_timeout{60};  ///< For each of: making the cluster, becoming ready.
  /// Told what takes long or surprises, later on from a thread of its own. May be empty.
  Progress progress = {};
  /// Asked often while the constructor runs, by its thread; true gives up. May be empty.
  std::function<bool()> cancelled = {};
  /// Where servers are looked for; empty means `postgres_search_path()`.
  std::vector<std::filesystem::path> search_path = {};
};

/// A PostgreSQL cluster that belongs to one data directory and is used by nobody else: made on
/// first use, running while this object lives, reached over a Unix socket in a directory of mode
/// 0700 only.
///
/// - A data directory has one owner at a time; the lock ends with the process, however it ends.
/// - The server runs in a session of its own. When its owner is killed it goes on, and the next
/// owner attaches to it.
/// - A server that ends by itself is started again, at the same address, until it runs or this
/// object stops: at once, then with growing pauses. Sessions that outlive a killed server are
/// waited for, as PostgreSQL demands: two servers on one cluster would destroy it.
/// - A first start that was cut short leaves nothing that the next one trips over: the cluster is
/// made under another
///   name and renamed when it is complete.
/// - As root everything of PostgreSQL's runs as the user `postgres`; see ClusterHome for where.
class PrivatePostgres {
 public:
  /// Starts or attaches. Returns when the database `writ` exists and accepts connections.
  /// Throws StartError, one line for the operator; nothing it started is left running then.
  explicit PrivatePostgres(PrivatePostgresOptions options);

  /// Stops the server.
  ~PrivatePostgres();
  PrivatePostgres(const PrivatePostgres&) = delete;
  PrivatePostgres& operator=(const PrivatePostgres&) = delete;

  /// Connection string of the cluster's superuser `writ_admin`, for migrations.
  std::string admin_connection() const { return connection("writ_admin", "writ"); }

  /// Connection string of the role `writ_app`, for serving. The migrations make that role.
  std::string app_connection() const { return connection("writ_app", "writ"); }

  /// Tells the server to stop, without waiting for it: it ends all sessions, and begins to write to
  /// disk what it has to. From now on it is not started again. Safe from any thread.
  void begin_stop() noexcept;

  /// Stops the server with a fast shutdown and gives the data directory free for others once this
  /// object goes. After 15 s it insists, after 30 s it gives up with a line to `progress`. Does
  /// nothing the second time.
  void stop() noexcept;

 private:
  std::string connection(const std::string& role, const std::string& database) const;
  void report(const std::string& line) const;
  ChildResult run(const std::string& program, std::vector<std::string> arguments,
                  std::chrono::seconds timeout, bool dies_with_parent = false) const;
  void make_cluster();
  void start_or_attach();
  bool is_reachable(const Postmaster& postmaster) const;
  bool start();
  bool start_once(const std::string& settings);
  void watch_over(pid_t server);
  void prepare_socket_directory();
  std::string why_not_started(const ChildResult& result) const;
  void make_database();
  void keep();
  bool start_again();
  void write_out() noexcept;

  PrivatePostgresOptions options_;
  std::filesystem::path data_directory_;
  DataDirectoryLock lock_;
  ClusterHome home_;
  PostgresBinaries binaries_;
  std::filesystem::path socket_directory_;
  bool new_database_ = false;
  bool stopped_ = false;

  Interrupt stopping_;
  std::unique_ptr<ProcessWatch> watch_;  // of the server
  std::mutex mutex_;
  Connection* writing_out_ = nullptr;
  std::thread keeper_;
};

}  // namespace writ
