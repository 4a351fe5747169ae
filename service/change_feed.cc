#include "service/change_feed.h"

#include <algorithm>

#include "service/audit_changes.h"

namespace writ {
namespace {

constexpr std::size_t kMostKept = 8192;
constexpr std::size_t kMostBytes = 32 << 20;
constexpr std::size_t kChunk = 256;
constexpr std::chrono::seconds kLookAnyway{2};
constexpr std::chrono::milliseconds kTryAgain{500};

/// About what it takes in memory, encoded in both codecs as well.
std::size_t size_of(const FedChange& one) {
  return 4 * one.event.payload.value_or("").size() + 4096;
}

std::unique_ptr<audit::v1::WatchChangesResponse> response_of(const audit::v1::Change& change) {
  auto response = std::make_unique<audit::v1::WatchChangesResponse>();
  *response->mutable_change() = change;
  response->set_position(change.position());
  return response;
}

}  // namespace

ChangeFeed::ChangeFeed(std::string conninfo, const LogFollower& follower)
    : conninfo_(std::move(conninfo)), follower_(follower), thread_([this] { work(); }) {}

ChangeFeed::~ChangeFeed() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    moved_.notify_all();
  }
  thread_.join();
}

ChangeFeed::Watcher::Watcher(ChangeFeed& feed) : feed_(feed) {
  const std::scoped_lock lock(feed_.mutex_);
  ++feed_.watchers_;
  feed_.moved_.notify_all();
}

ChangeFeed::Watcher::~Watcher() {
  const std::scoped_lock lock(feed_.mutex_);
  --feed_.watchers_;
}

ChangeFeed::News ChangeFeed::wait_after(Position position, Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  moved_.wait_until(lock, deadline, [&] {
    return stopping_ || (following_ && (last_ > position || before_ > position));
  });
  News news;
  news.up_to = position;
  if (!following_ || last_ <= position) return news;
  news.behind = before_ > position;
  if (news.behind) return news;
  for (auto one = kept_.rbegin(); one != kept_.rend() && (*one)->event.position > position; ++one)
    news.changes.push_back(*one);
  std::ranges::reverse(news.changes);
  news.up_to = last_;
  return news;
}

bool ChangeFeed::wanted() const {
  const std::scoped_lock lock(mutex_);
  return !stopping_ && watchers_ > 0 && !follower_.stopped();
}

void ChangeFeed::add(const EventInHistory& one) {
  std::shared_ptr<const FedChange> fed;
  if (is_change(one.event)) {
    audit::v1::Change change = to_change(one, "");
    auto response = response_of(change);
    fed.reset(new FedChange{one.event, std::move(change), SharedMessage(std::move(response))});
  }
  const std::scoped_lock lock(mutex_);
  last_ = one.event.position;
  if (fed) {
    kept_bytes_ += size_of(*fed);
    kept_.push_back(std::move(fed));
  }
  while (kept_.size() > kMostKept || kept_bytes_ > kMostBytes) {
    before_ = kept_.front()->event.position;
    kept_bytes_ -= size_of(*kept_.front());
    kept_.pop_front();
  }
  moved_.notify_all();
}

void ChangeFeed::follow() {
  Connection connection(conninfo_);
  Position done = read_head(connection).position;
  {
    const std::scoped_lock lock(mutex_);
    if (!following_) before_ = last_ = done;
    following_ = true;
    done = last_;
    moved_.notify_all();
  }
  while (wanted()) {
    const Position head = follower_.wait_beyond(done, Clock::now() + kLookAnyway);
    if (head <= done) continue;
    HistoryQuery query;
    query.from = {done.value + 1};
    query.to = head;
    query.order = Order::kOldestFirst;
    query.limit = kChunk;
    for (const EventInHistory& one : read_history(connection, query)) {
      add(one);
      done = one.event.position;
    }
  }
  const std::scoped_lock lock(mutex_);
  if (watchers_ > 0) return;
  following_ = false;
  kept_.clear();
  kept_bytes_ = 0;
}

void ChangeFeed::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      moved_.wait(lock, [&] { return stopping_ || watchers_ > 0; });
      if (stopping_) return;
    }
    try {
      follow();
    } catch (const std::exception&) {
      // The database is away; what is kept stays good, and the next try goes on from there.
    }
    std::unique_lock lock(mutex_);
    moved_.wait_for(lock, kTryAgain, [&] { return stopping_; });
  }
}

}  // namespace writ
