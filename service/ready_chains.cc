#include "service/ready_chains.h"

#include <functional>

namespace writ {
namespace {

constexpr std::size_t kBytesPerChain = 4096;
constexpr std::size_t kBytesPerByte = 6;  // in binary: of the record and of what was merged

}  // namespace

std::size_t ReadyChains::HashOfRecords::operator()(const Records& records) const {
  constexpr std::size_t kOdd = 0x9E3779B97F4A7C15;
  std::size_t hash = 0;
  for (const auto& record : records) hash = (hash ^ std::hash<const void*>()(record.get())) * kOdd;
  return hash;
}

std::shared_ptr<const ReadySettings> ReadyChains::ready(const Records& records) {
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
  auto ready = std::make_shared<const ReadySettings>(levels);
  const std::scoped_lock lock(mutex_);
  kept_.keep(records, ready, kBytesPerChain + bytes * kBytesPerByte);
  return ready;
}

}  // namespace writ
