#include "service/audit_point.h"

#include <limits>

#include "service/audit_changes.h"
#include "service/connect.h"
#include "service/settings_commands.h"

namespace writ {
namespace {

Position of_version(Connection& connection, std::uint64_t version, const ScopeKey& key) {
  const std::string stream = settings_stream(key).value;
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (version > 0 && version <= kLargest)
    if (const auto found =
            position_of_version(connection, stream, {static_cast<std::int64_t>(version)}))
      return *found;
  const auto newest = read_states(connection, {stream}, read_head(connection).position).front();
  if (!newest) throw ConnectError(Code::kNotFound, "settings not found: " + key.storage_key());
  throw ConnectError(Code::kNotFound, "version " + std::to_string(version) + " of " +
                                          key.storage_key() + " not found; it has versions 1 to " +
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

std::vector<StoredAt> chain_at(Connection& connection, const ScopeKey& key, Position position) {
  std::vector<StoredAt> chain;
  std::vector<std::string> streams;
  for (const ScopeKey& level : key.levels()) {
    chain.push_back({level, std::nullopt, {}});
    streams.push_back(settings_stream(level).value);
  }
  std::vector<std::optional<RecordedEvent>> events = read_states(connection, streams, position);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!events[i]) continue;
    chain[i].settings = stored_settings(*events[i]);
    chain[i].event = std::move(events[i]);
  }
  return chain;
}

flyteidl2::settings::Settings merge_chain(const std::vector<StoredAt>& chain) {
  std::vector<Level> levels;
  for (const StoredAt& one : chain)
    if (one.event) levels.push_back({one.key.scope(), &one.settings});
  return merge(levels);
}

}  // namespace writ
