#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "events/connection.h"

namespace writ {

/// A bounded set of connections for reads, made when first needed and lent to one thread at a time.
class ConnectionPool {
 public:
  /// `prepare` is run on every new connection.
  ConnectionPool(std::string conninfo, std::size_t size, std::function<void(Connection&)> prepare);

  /// Runs `use` with a connection of its own and answers what it answers. A connection found dead
  /// (the database was restarted) is replaced and `use` run once more, so it must only read. Throws
  /// DeadlineExceeded when no connection is free in time, StorageUnavailable, StorageError.
  template <typename Use>
  auto read(std::chrono::steady_clock::time_point deadline, Use use) {
    Lease lease(*this, deadline);
    try {
      return use(*lease.connection);
    } catch (const ConnectionLost&) {
      lease.connection = connect();
      return use(*lease.connection);
    }
  }

 private:
  struct Lease {
    Lease(ConnectionPool& from, std::chrono::steady_clock::time_point deadline);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ConnectionPool& pool;
    std::unique_ptr<Connection> connection;
  };

  std::unique_ptr<Connection> connect() const;

  const std::string conninfo_;
  const std::function<void(Connection&)> prepare_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t free_;  // connections that may still be lent
  std::vector<std::unique_ptr<Connection>>
      idle_;  // of those, the open ones; the last returned is used first
};

}  // namespace writ
