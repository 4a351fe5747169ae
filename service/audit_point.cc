#include "service/audit_point.h"

#include <limits>

#include "events/erasure.h"
#include "events/log_domain.h"
#include "projections/changed_paths.h"
#include "projections/settings.h"
#include "service/audit_changes.h"
#include "service/connect.h"
#include "service/settings_commands.h"

namespace writ {
namespace {

constexpr std::size_t kChunk = 200;

/// A scope as people say it.
std::string told(const ScopeKey& key) {
  switch (key.scope()) {
    case Scope::kInstance:
      break;
    case Scope::kDomain:
      return "domain " + key.domain;
    case Scope::kProject:
      return "project " + key.project + " of domain " + key.domain;
  }
  return "the instance";
}

/// The event that says that the content at `position` was erased; nothing when none does.
std::optional<RecordedEvent> erasure_of(Connection& connection, Position position) {
  HistoryQuery query;
  query.by = HistoryQuery::By::kStream;
  query.values = {kLogStream};
  query.from = {position.value + 1};
  query.to = read_head(connection).position;
  query.order = Order::kOldestFirst;
  query.limit = kChunk;
  for (;;) {
    const std::vector<EventInHistory> events = read_history(connection, query);
    for (const EventInHistory& one : events) {
      query.from = {one.event.position.value + 1};
      if (one.event.type != kLogErased) continue;
      const auto detail = detail_of(one.event);
      const auto of = detail.find(kErasedPosition);
      if (of != detail.end() && of->second == std::to_string(position.value)) return one.event;
    }
    if (events.size() < query.limit) return std::nullopt;
  }
}

[[noreturn]] void throw_erased(Connection& connection, const RecordedEvent& event) {
  const std::string position = std::to_string(event.position.value);
  const std::optional<RecordedEvent> erasure = erasure_of(connection, event.position);
  // Only what is not the newest is ever erased.
  const auto next = position_of_version(connection, event.stream.value, {event.version.value + 1});
  if (!erasure || !next)
    throw CorruptLog("the payload at position " + position +
                     " is missing, and no event says that it was erased");
  const ScopeKey key =
      parse_storage_key(std::string_view(event.stream.value).substr(kSettingsStreamPrefix.size()));
  throw ConnectError(
      Code::kFailedPrecondition,
      "the content at position " + position + ", version " + std::to_string(event.version.value) +
          " of " + told(key) + ", was erased on purpose by " + erasure->actor + " (position " +
          std::to_string(erasure->position.value) + "); ask for its next version, from position " +
          std::to_string(next->value) + " on, or a later one");
}

/// What each of `keys` stored at `position`, in their order.
std::vector<StoredAt> stored_at(Connection& connection, const std::vector<ScopeKey>& keys,
                                Position position) {
  std::vector<StoredAt> stored;
  std::vector<std::string> streams;
  for (const ScopeKey& key : keys) {
    stored.push_back({key, std::nullopt, {}});
    streams.push_back(settings_stream(key).value);
  }
  std::vector<std::optional<RecordedEvent>> events = read_states(connection, streams, position);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (!events[i]) continue;
    stored[i].settings = stored_settings(connection, *events[i]);
    stored[i].event = std::move(events[i]);
  }
  return stored;
}

Position of_version(Connection& connection, std::uint64_t version, const ScopeKey& key) {
  const std::string stream = settings_stream(key).value;
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (version > 0 && version <= kLargest)
    if (const auto found =
            position_of_version(connection, stream, {static_cast<std::int64_t>(version)}))
      return *found;
  const auto newest = read_states(connection, {stream}, read_head(connection).position).front();
  if (!newest) throw ConnectError(Code::kNotFound, "settings not found: " + key.storage_key());
  throw ConnectError(Code::kNotFound, "version " + std::to_string(version) + " of " + told(key) +
                                          " not found; it has versions 1 to " +
                                          std::to_string(newest->version.value));
}

}  // namespace

Position resolve_point(Connection& connection, const audit::v1::Point& point, const ScopeKey& key,
                       const std::string& path) {
  using Case = audit::v1::Point;
  switch (point.at_case()) {
    case Case::kPosition:
      return checked_position(point.position(), read_head(connection).position, path + ".position");
    case Case::kTime:
      return position_at(connection, checked_time(point.time(), path + ".time"));
    case Case::kVersion:
      return of_version(connection, point.version(), key);
    case Case::AT_NOT_SET:
      break;
  }
  return read_head(connection).position;
}

flyteidl2::settings::Settings stored_settings(Connection& connection, const RecordedEvent& event) {
  if (!event.payload) throw_erased(connection, event);
  return settings_of(*event.payload, event.position);
}

std::vector<StoredAt> chain_at(Connection& connection, const ScopeKey& key, Position position) {
  return stored_at(connection, key.levels(), position);
}

StoredAt record_at(Connection& connection, const ScopeKey& key, Position position) {
  return std::move(stored_at(connection, {key}, position).front());
}

flyteidl2::settings::Settings merge_chain(const std::vector<StoredAt>& chain) {
  std::vector<Level> levels;
  for (const StoredAt& one : chain)
    if (one.event) levels.push_back({one.key.scope(), &one.settings});
  return merge(levels);
}

}  // namespace writ
