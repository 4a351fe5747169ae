#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "events/connection.h"

namespace writ {

/// A bounded set of connections for reads, made when first needed and lent to one thread at a time.
class ConnectionPool {
 public:
  using Clock = std::chrono::steady_clock;

  /// `prepare` is run on every new connection.
  ConnectionPool(std::string conninfo, std::size_t size, std::function<void(Connection&)> prepare);
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// Runs `use` with a connection of its own and answers what it answers. A connection found dead
  /// (the database was restarted) is replaced and `use` run once more, so it must only read. Throws
  /// DeadlineExceeded when no connection is free in time or `use` is not done by then, however the
  /// database hangs (two seconds later when it hangs while a connection is made);
  /// StorageUnavailable, also when something locks what is read; StorageError.
  template <typename Use>
  auto read(Clock::time_point deadline, Use use) {
    Lease lease(*this, deadline);
    try {
      try {
        return use(*lease.connection);
      } catch (const ConnectionLost&) {
        lease.reconnect();
        return use(*lease.connection);
      }
    } catch (...) {
      lease.rethrow();
    }
  }

 private:
  struct Lease {
    Lease(ConnectionPool& from, Clock::time_point until);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    /// Replaces a connection that was lost. Throws DeadlineExceeded when it is too late for that.
    void reconnect();
    /// Throws the exception that is being handled, as `read` tells it.
    [[noreturn]] void rethrow() const;
    void set(std::unique_ptr<Connection> made);

    ConnectionPool& pool;
    const Clock::time_point deadline;
    std::unique_ptr<Connection> connection;
    std::multimap<Clock::time_point, Lease*>::iterator place;  // in `lent_`
  };

  std::unique_ptr<Connection> connect(Clock::time_point deadline) const;
  void watch_deadlines();

  const std::string conninfo_;
  const std::function<void(Connection&)> prepare_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t free_;  // connections that may still be lent
  std::vector<std::unique_ptr<Connection>>
      idle_;  // of those, the open ones; the last returned is used first
  std::multimap<Clock::time_point, Lease*> lent_;  // by deadline
  std::condition_variable earlier_;                // the first deadline has changed, or the end
  bool stopping_ = false;
  std::thread watch_;  // cuts what is late
};

}  // namespace writ
