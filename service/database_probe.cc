#include "service/database_probe.h"

#include <algorithm>
#include <utility>

#include "events/errors.h"

namespace writ {

DatabaseProbe::DatabaseProbe(std::string conninfo)
    : conninfo_(std::move(conninfo)), thread_([this] { work(); }) {}

DatabaseProbe::~DatabaseProbe() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (begun_ > done_ && connection_) connection_->cut();
  }
  asked_.notify_all();
  thread_.join();
}

DatabaseProbe::Finding DatabaseProbe::ask(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  // One that runs already may have looked before what the caller knows of.
  const std::uint64_t question = begun_ + 1;
  wanted_ = std::max(wanted_, question);
  asked_.notify_one();
  if (!answered_.wait_for(lock, patience, [&] { return done_ >= question; }))
    return {"the database does not answer", finding_.head};
  return finding_;
}

void DatabaseProbe::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return stopping_ || wanted_ > begun_; });
    if (stopping_) return;
    ++begun_;
    lock.unlock();
    Finding finding = look();
    lock.lock();
    if (!finding.trouble.empty()) finding.head = finding_.head;
    finding_ = std::move(finding);
    done_ = begun_;
    answered_.notify_all();
  }
}

DatabaseProbe::Finding DatabaseProbe::look() {
  try {
    // A connection that was lost while nobody asked says nothing of the database now.
    if (connection_ && connection_->usable()) {
      try {
        return {"", read_head()};
      } catch (const ConnectionLost&) {
      }
    }
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return {};
    }
    auto fresh = std::make_unique<Connection>(conninfo_);
    {
      const std::lock_guard lock(mutex_);
      connection_.swap(fresh);
      if (stopping_) return {};
    }
    return {"", read_head()};
  } catch (const StorageUnavailable&) {
    return {"the database is unavailable", {}};
  } catch (const CorruptLog&) {
    return {"the log has no head", {}};
  } catch (const StorageError&) {
    return {"the database refuses to show the log", {}};
  }
}

Position DatabaseProbe::read_head() {
  const auto rows = connection_->exec("SELECT position FROM log_head");
  if (rows.size() != 1) throw CorruptLog("the log has no head");
  return {rows[0][0].as<std::int64_t>()};
}

}  // namespace writ
