#include "projections/continuous_check.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "events/connection.h"
#include "projections/read_models.h"

namespace writ {
namespace {

constexpr std::chrono::seconds kTryAgain{10};  // after the connection failed
constexpr std::size_t kMostTold = 100;         // lines a pass

/// A row as people name it.
std::string name_of(const FoldedModel& model, const std::string& key) {
  return model.projection.name + " of " + key;
}

}  // namespace

ContinuousCheck::ContinuousCheck(std::string conninfo, ContinuousCheckOptions options,
                                 std::function<void(const std::string&)> warn)
    : conninfo_(std::move(conninfo)),
      options_(options),
      warn_(std::move(warn)),
      thread_([this] { work(); }) {}

ContinuousCheck::~ContinuousCheck() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

ContinuousCheckStatus ContinuousCheck::status() const {
  const std::scoped_lock lock(mutex_);
  ContinuousCheckStatus status = status_;
  status.differences = std::max(status.differences, going_on_);
  if (status.first.empty()) status.first = first_going_on_;
  return status;
}

/// False once it is to stop.
bool ContinuousCheck::wait(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, time, [this] { return stopping_; });
}

void ContinuousCheck::work() {
  // Not at once: a service that starts has better to do.
  std::chrono::nanoseconds pause = std::min<std::chrono::nanoseconds>(options_.pause, kTryAgain);
  while (wait(pause)) {
    try {
      pass();
      pause = options_.pause;
    } catch (const std::exception&) {
      pause = kTryAgain;  // the database is away: others say so
    }
  }
}

void ContinuousCheck::pass() {
  {
    const std::scoped_lock lock(mutex_);
    going_on_ = 0;
    first_going_on_.clear();
  }
  Connection connection(conninfo_);
  for (const FoldedModel& model : read_models()) check_model(connection, model);
  told_before_ = std::exchange(told_, {});
  const std::scoped_lock lock(mutex_);
  if (stopping_) return;
  ++status_.passes;
  status_.differences = std::exchange(going_on_, 0);
  status_.first = std::exchange(first_going_on_, {});
}

void ContinuousCheck::check_model(Connection& connection, const FoldedModel& model) {
  RowCheck check(connection, model);
  for (std::string after;;) {
    const auto begun = Clock::now();
    RowCheck::Chunk chunk = check.check(after, options_.keys);
    if (chunk.difference) {
      // A rebuild that changed the tables after the snapshot shows one that is none.
      chunk = check.check(after, options_.keys);
      if (chunk.difference)
        found(name_of(model, chunk.difference->key) + ": " + chunk.difference->what);
    }
    {
      const std::scoped_lock lock(mutex_);
      status_.rows += static_cast<std::uint64_t>(chunk.rows);
    }
    if (chunk.end) return;
    after = chunk.last_key;
    const std::chrono::nanoseconds rest = (Clock::now() - begun) * options_.rest;
    if (!wait(std::max<std::chrono::nanoseconds>(rest, options_.shortest_rest))) return;
  }
}

void ContinuousCheck::found(const std::string& line) {
  if (told_.size() < kMostTold && told_.insert(line).second && !told_before_.contains(line))
    warn_("the read model does not say what the log says: " + line +
          "; writ verify checks all of it, writ rebuild mends it");
  const std::scoped_lock lock(mutex_);
  ++going_on_;
  if (first_going_on_.empty()) first_going_on_ = line;
}

}  // namespace writ
