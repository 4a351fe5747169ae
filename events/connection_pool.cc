#include "events/connection_pool.h"

namespace writ {

ConnectionPool::ConnectionPool(std::string conninfo, std::size_t size,
                               std::function<void(Connection&)> prepare)
    : conninfo_(std::move(conninfo)), prepare_(std::move(prepare)), free_(size) {}

std::unique_ptr<Connection> ConnectionPool::connect() const {
  auto connection = std::make_unique<Connection>(conninfo_);
  prepare_(*connection);
  return connection;
}

ConnectionPool::Lease::Lease(ConnectionPool& from, std::chrono::steady_clock::time_point deadline)
    : pool(from) {
  std::unique_lock lock(pool.mutex_);
  if (!pool.returned_.wait_until(lock, deadline, [&] { return pool.free_ > 0; }))
    throw DeadlineExceeded("no database connection became free in time");
  --pool.free_;
  if (!pool.idle_.empty()) {
    connection = std::move(pool.idle_.back());
    pool.idle_.pop_back();
    return;
  }
  lock.unlock();
  try {
    connection = pool.connect();
  } catch (...) {
    lock.lock();
    ++pool.free_;
    pool.returned_.notify_one();
    throw;
  }
}

ConnectionPool::Lease::~Lease() {
  const std::lock_guard lock(pool.mutex_);
  ++pool.free_;
  if (connection && connection->usable()) pool.idle_.push_back(std::move(connection));
  pool.returned_.notify_one();
}

}  // namespace writ
