#include "service/ready_chains.h"

#include <unordered_set>

namespace writ {
namespace {

constexpr std::size_t kBytesPerChain = 4096;
constexpr std::size_t kBytesPerByte = 6;  // in binary: of the record and of what was merged

}  // namespace

const Position* ChainOrigins::known(const SettingSource& source) const {
  const Positions& positions = by_scope_[static_cast<std::size_t>(source.scope_level)];
  const auto place = positions.find(source.setting);
  return place == positions.end() ? nullptr : &place->second;
}

std::vector<Position> ChainOrigins::find(const std::vector<SettingSource>& sources,
                                         const LookUp& look_up) {
  std::vector<Position> found(sources.size());
  std::vector<std::size_t> places;
  const auto take_known = [&] {
    places.clear();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (const Position* const position = known(sources[i]))
        found[i] = *position;
      else
        places.push_back(i);
    }
  };
  {
    const std::scoped_lock lock(mutex_);
    take_known();
  }
  if (places.empty()) return found;
  std::vector<SettingSource> missing;
  std::array<std::unordered_set<std::string_view>, 3> asked;
  for (const std::size_t place : places)
    if (asked[static_cast<std::size_t>(sources[place].scope_level)]
            .insert(sources[place].setting)
            .second)
      missing.push_back(sources[place]);
  const std::vector<Position> positions = look_up(missing);
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < missing.size(); ++i)
    by_scope_[static_cast<std::size_t>(missing[i].scope_level)].emplace(missing[i].setting,
                                                                        positions[i]);
  take_known();
  return found;
}

std::size_t ReadyChains::HashOfRecords::operator()(const Records& records) const {
  constexpr std::size_t kOdd = 0x9E3779B97F4A7C15;
  std::size_t hash = 0;
  for (const auto& record : records) hash = (hash ^ std::hash<const void*>()(record.get())) * kOdd;
  return hash;
}

std::shared_ptr<ReadyChain> ReadyChains::ready(const Records& records) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto* kept = kept_.find(records)) return *kept;
  }
  std::vector<Level> levels;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!records[i]) continue;
    levels.push_back({static_cast<Scope>(i), &records[i]->settings});
    bytes += records[i]->settings.ByteSizeLong();
  }
  auto ready = std::make_shared<ReadyChain>(levels);
  const std::scoped_lock lock(mutex_);
  kept_.keep(records, ready, kBytesPerChain + bytes * kBytesPerByte);
  return ready;
}

}  // namespace writ
