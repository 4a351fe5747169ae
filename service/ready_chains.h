#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "events/types.h"
#include "projections/bounded_cache.h"
#include "projections/parsed_rows.h"
#include "schema/apply/apply.h"

namespace writ {

/// Which events the settings of one chain go back to, as far as somebody asked. Thread-safe.
class ChainOrigins {
 public:
  using LookUp = std::function<std::vector<Position>(const std::vector<SettingSource>&)>;

  /// The positions of `sources`, in their order. `look_up` is asked for those that are not known
  /// yet, each once, and answers in the order of its question.
  std::vector<Position> find(const std::vector<SettingSource>& sources, const LookUp& look_up);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Positions = std::unordered_map<std::string, Position, Hash, std::equal_to<>>;

  const Position* known(const SettingSource& source) const;

  std::mutex mutex_;
  std::array<Positions, 3> by_scope_;
};

/// A chain of records, ready to be applied.
struct ReadyChain {
  explicit ReadyChain(const std::vector<Level>& levels) : settings(levels) {}

  const ReadySettings settings;
  ChainOrigins origins;
};

/// Makes chains of records ready to be applied, and keeps those that are asked for again and again:
/// a record does not change, one with a change is another. Thread-safe.
class ReadyChains {
 public:
  /// By scope; null where there is no record.
  using Records = std::array<std::shared_ptr<const StoredSettings>, 3>;

  /// Keeps about `capacity` bytes.
  explicit ReadyChains(std::size_t capacity = std::size_t{32} << 20) : kept_(capacity) {}

  std::shared_ptr<ReadyChain> ready(const Records& records);

 private:
  struct HashOfRecords {
    std::size_t operator()(const Records& records) const;
  };

  std::mutex mutex_;
  /// The records are kept alive as long as they are a key, so that none can be taken for another.
  BoundedCache<Records, std::shared_ptr<ReadyChain>, HashOfRecords> kept_;
};

}  // namespace writ
