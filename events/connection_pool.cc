#include "events/connection_pool.h"

#include "events/errors.h"

namespace writ {
namespace {

constexpr std::chrono::seconds kUsualConnect{5};        // as with_session_settings has it
constexpr char kShortConnect[] = " connect_timeout=2";  // the least that libpq takes

/// Something else holds what is read, or the database is so slow that it gave up itself.
bool says_busy(const StorageError& error) {
  return error.sqlstate() == "55P03" || error.sqlstate() == "57014";
}

}  // namespace

ConnectionPool::ConnectionPool(std::string conninfo, std::size_t size,
                               std::function<void(Connection&)> prepare)
    : conninfo_(std::move(conninfo)),
      prepare_(std::move(prepare)),
      free_(size),
      watch_([this] { watch_deadlines(); }) {}

ConnectionPool::~ConnectionPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  earlier_.notify_one();
  watch_.join();
}

std::unique_ptr<Connection> ConnectionPool::connect(Clock::time_point deadline) const {
  const bool hurry = deadline < Clock::now() + kUsualConnect;
  auto connection = std::make_unique<Connection>(hurry ? conninfo_ + kShortConnect : conninfo_);
  prepare_(*connection);
  return connection;
}

void ConnectionPool::watch_deadlines() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (lent_.empty()) {
      earlier_.wait(lock);
      continue;
    }
    const auto first = lent_.begin();
    const auto until = first->first;  // a copy: who returns in time takes its entry away
    if (Clock::now() < until) {
      earlier_.wait_until(lock, until);
      continue;
    }
    Lease& late = *first->second;
    if (late.connection) late.connection->cut();
    // Once is enough; a connection made after it is another's matter.
    late.place = lent_.end();
    lent_.erase(first);
  }
}

ConnectionPool::Lease::Lease(ConnectionPool& from, Clock::time_point until)
    : pool(from), deadline(until) {
  std::unique_lock lock(pool.mutex_);
  if (!pool.returned_.wait_until(lock, deadline, [&] { return pool.free_ > 0; }))
    throw DeadlineExceeded("no database connection became free in time");
  --pool.free_;
  place = pool.lent_.end();
  if (!pool.idle_.empty()) {
    connection = std::move(pool.idle_.back());
    pool.idle_.pop_back();
  }
  if (deadline != Clock::time_point::max()) {
    place = pool.lent_.emplace(deadline, this);
    if (place == pool.lent_.begin()) pool.earlier_.notify_one();
  }
  if (connection) return;
  lock.unlock();
  try {
    set(pool.connect(deadline));
  } catch (...) {
    lock.lock();
    if (place != pool.lent_.end()) pool.lent_.erase(place);
    ++pool.free_;
    pool.returned_.notify_one();
    lock.unlock();
    rethrow();
  }
}

void ConnectionPool::Lease::set(std::unique_ptr<Connection> made) {
  const std::lock_guard lock(pool.mutex_);
  connection = std::move(made);
}

void ConnectionPool::Lease::reconnect() {
  if (Clock::now() >= deadline) throw;
  set(nullptr);
  set(pool.connect(deadline));
}

void ConnectionPool::Lease::rethrow() const {
  const bool late = Clock::now() >= deadline;
  try {
    throw;
  } catch (const StorageUnavailable&) {
    if (!late) throw;
  } catch (const StorageError& e) {
    if (!says_busy(e)) throw;
    if (!late) throw StorageUnavailable(e.what());
  }
  throw DeadlineExceeded("the database did not answer in time");
}

ConnectionPool::Lease::~Lease() {
  const std::lock_guard lock(pool.mutex_);
  if (place != pool.lent_.end()) pool.lent_.erase(place);
  ++pool.free_;
  if (connection && connection->usable()) pool.idle_.push_back(std::move(connection));
  pool.returned_.notify_one();
}

}  // namespace writ
