#include "tests/events/memory_log.h"

#include <stdexcept>

#include "events/errors.h"
#include "tests/events/counter_domain.h"

namespace writ {

Outcome MemoryLog::run(const Command& command) {
  ++runs_;
  const std::pair key(command.actor, command.idempotency_key);
  if (!command.idempotency_key.empty()) {
    if (const auto found = remembered_.find(key); found != remembered_.end()) {
      if (found->second.fingerprint != command.fingerprint)
        throw IdempotencyKeyReused(command.idempotency_key);
      Accepted again = found->second.accepted;
      again.replayed = true;
      return again;
    }
  }
  const std::size_t before = events_.size();
  try {
    Decision decision = domain_.decide(command.body, *this);
    if (auto* rejected = std::get_if<Rejected>(&decision)) {
      events_.resize(before);
      return *rejected;
    }
    stage(std::get<std::vector<NewEvent>>(std::move(decision)));
  } catch (...) {
    events_.resize(before);
    throw;
  }
  Accepted accepted;
  for (std::size_t i = before; i < events_.size(); ++i)
    accepted.events.push_back(
        {events_[i].stream, events_[i].version, {static_cast<std::int64_t>(i + 1)}});
  if (!command.idempotency_key.empty() && !accepted.events.empty())
    remembered_[key] = {command.fingerprint, accepted};
  return accepted;
}

std::optional<StreamState> MemoryLog::latest(const StreamName& stream) {
  for (std::size_t i = events_.size(); i > 0; --i) {
    const Event& event = events_[i - 1];
    if (event.stream != stream) continue;
    StreamState state;
    state.version = event.version;
    state.position = {static_cast<std::int64_t>(i)};
    state.type = kCounterAdded;
    state.payload = event.payload;
    return state;
  }
  return std::nullopt;
}

LookupRows MemoryLog::query(const std::string& sql, const std::vector<std::string>&) {
  if (sql != kSumOfTotals) throw std::logic_error("the memory cannot answer " + sql);
  std::map<StreamName, std::int64_t> totals;
  for (const Event& event : events_) totals[event.stream] = total_of(*latest(event.stream));
  std::int64_t sum = 0;
  for (const auto& [stream, total] : totals) sum += total;
  return {{std::to_string(sum)}};
}

void MemoryLog::stage(std::vector<NewEvent> events) {
  for (NewEvent& event : events) {
    const auto before = latest(event.stream);
    const StreamVersion version{before ? before->version.value + 1 : 1};
    events_.push_back({std::move(event.stream), version, std::move(event.payload), runs_});
  }
}

}  // namespace writ
