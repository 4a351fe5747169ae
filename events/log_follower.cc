#include "events/log_follower.h"

#include "events/connection.h"
#include "events/history.h"

namespace writ {
namespace {

constexpr std::chrono::seconds kAskAnyway{5};        // without a notification
constexpr std::chrono::milliseconds kTryAgain{500};  // after the connection failed
constexpr std::chrono::milliseconds kBreath{10};     // between questions while news come fast

}  // namespace

LogFollower::LogFollower(std::string conninfo)
    : conninfo_(std::move(conninfo)), thread_([this] { work(); }) {}

LogFollower::~LogFollower() {
  stop();
  thread_.join();
}

Position LogFollower::head() const {
  const std::scoped_lock lock(mutex_);
  return head_;
}

Position LogFollower::wait_beyond(Position position, Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  moved_.wait_until(lock, deadline, [&] { return head_ > position || stopping_; });
  return head_;
}

void LogFollower::stop() {
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  if (connection_ != nullptr) connection_->cut();
  moved_.notify_all();
}

bool LogFollower::stopped() const {
  const std::scoped_lock lock(mutex_);
  return stopping_;
}

void LogFollower::publish(Position head) {
  const std::scoped_lock lock(mutex_);
  if (head <= head_) return;
  head_ = head;
  moved_.notify_all();
}

/// Lets `stop` cut a connection while this object lives.
class LogFollower::Listening {
 public:
  Listening(LogFollower& follower, Connection& connection) : follower_(follower) {
    const std::scoped_lock lock(follower_.mutex_);
    follower_.connection_ = &connection;
    if (follower_.stopping_) connection.cut();
  }
  ~Listening() {
    const std::scoped_lock lock(follower_.mutex_);
    follower_.connection_ = nullptr;
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  LogFollower& follower_;
};

void LogFollower::work() {
  while (!stopped()) {
    try {
      Connection connection(conninfo_);
      const Listening listening(*this, connection);
      connection.listen("writ_log");
      while (!stopped()) {
        publish(read_head(connection).position);
        const auto asked = Clock::now();
        connection.wait_for_notification(kAskAnyway);
        std::unique_lock lock(mutex_);
        moved_.wait_until(lock, asked + kBreath, [&] { return stopping_; });
      }
    } catch (const std::exception&) {
      // Away, or about to say so to whoever asks it something; here the next try is all there is.
      std::unique_lock lock(mutex_);
      moved_.wait_for(lock, kTryAgain, [&] { return stopping_; });
    }
  }
}

}  // namespace writ
