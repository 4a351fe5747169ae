#include "projections/leaf_origins.h"

#include <algorithm>
#include <map>

#include "events/history.h"

namespace writ {
namespace {

std::string cache_key(const VersionedPath& one) {
  std::string key = std::to_string(one.version.value);
  key.reserve(key.size() + one.stream.size() + one.path.size() + 2);
  key.append("\n").append(one.stream).append("\n").append(one.path);
  return key;
}

/// The positions of the events that made these versions.
std::vector<Position> versions_at(Connection& connection, const std::vector<VersionedPath>& paths) {
  std::map<std::pair<std::string, StreamVersion>, Position> known;
  std::vector<Position> at;
  for (const VersionedPath& one : paths) {
    const auto [place, added] = known.try_emplace({one.stream, one.version});
    if (added) {
      const auto position = position_of_version(connection, one.stream, one.version);
      if (!position)
        throw CorruptLog("version " + std::to_string(one.version.value) + " of " + one.stream +
                         " is not in the log");
      place->second = *position;
    }
    at.push_back(place->second);
  }
  return at;
}

}  // namespace

std::vector<Position> LeafOrigins::find(const std::vector<VersionedPath>& wanted,
                                        std::chrono::steady_clock::time_point deadline) {
  std::vector<Position> found(wanted.size());
  std::vector<std::size_t> places;
  std::vector<std::string> keys;
  keys.reserve(wanted.size());
  for (const VersionedPath& one : wanted) keys.push_back(cache_key(one));
  {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (const Position* position = kept_.find(keys[i]))
        found[i] = *position;
      else
        places.push_back(i);
    }
  }
  if (places.empty()) return found;
  std::vector<VersionedPath> missing;
  for (const std::size_t place : places) missing.push_back(wanted[place]);
  const auto positions = pool_.read(deadline, [&](Connection& connection) {
    const std::vector<Position> at = versions_at(connection, missing);
    index_.wait_for(*std::ranges::max_element(at), deadline);
    std::vector<StreamPath> paths;
    for (const VersionedPath& one : missing) paths.push_back({one.stream, one.path});
    return last_positions(connection, paths, at);
  });
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!positions[i])
      throw CorruptLog("the index of changed settings has nothing about " + missing[i].path +
                       " of " + missing[i].stream);
    found[places[i]] = *positions[i];
    kept_.keep(std::move(keys[places[i]]), *positions[i]);
  }
  return found;
}

}  // namespace writ
