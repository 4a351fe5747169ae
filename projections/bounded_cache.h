#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

namespace writ {

/// Keeps values by key for as long as they are asked for: a newer and an older half; what is found
/// in the older moves to the newer, and when that is full, the older is dropped. Not thread-safe.
template <class Key, class Value, class Hash = std::hash<Key>>
class BoundedCache {
 public:
  /// At most `capacity` in all, in the unit of the weights.
  explicit BoundedCache(std::size_t capacity) : half_(capacity / 2) {}

  /// Null when it is not kept. Good until the next call.
  const Value* find(const Key& key) {
    if (const auto place = newer_.find(key); place != newer_.end()) return &place->second.value;
    const auto place = older_.find(key);
    if (place == older_.end()) return nullptr;
    const std::size_t weight = place->second.weight;
    auto node = older_.extract(place);
    make_room(weight);
    weight_ += weight;
    return &newer_.insert(std::move(node)).position->second.value;
  }

  /// Keeps a value in the place of what is kept by its key, unless it is too heavy for a half.
  void keep(Key key, Value value, std::size_t weight = 1) {
    older_.erase(key);
    if (const auto place = newer_.find(key); place != newer_.end()) {
      weight_ -= place->second.weight;
      newer_.erase(place);
    }
    if (weight > half_) return;
    make_room(weight);
    weight_ += weight;
    newer_.emplace(std::move(key), Entry{std::move(value), weight});
  }

 private:
  struct Entry {
    Value value;
    std::size_t weight;
  };

  void make_room(std::size_t weight) {
    if (weight_ + weight <= half_) return;
    older_ = std::move(newer_);
    newer_.clear();
    weight_ = 0;
  }

  const std::size_t half_;
  std::unordered_map<Key, Entry, Hash> newer_, older_;
  std::size_t weight_ = 0;  // of the newer half
};

}  // namespace writ
