#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tests/acceptance/json.h"

namespace writ::test {

/// What a random history is made from; the same seed gives the same history.
class RandomSettings {
 public:
  explicit RandomSettings(std::uint64_t seed) : engine_(seed) {}

  /// A number in [0, below).
  int number(int below) { return std::uniform_int_distribution<int>(0, below - 1)(engine_); }
  bool chance(int percent) { return number(100) < percent; }
  template <typename List>
  auto pick(const List& list) {
    return *(std::begin(list) + number(static_cast<int>(std::size(list))));
  }

  /// Settings that are valid, with leaves in every state, values beside states that ignore them,
  /// scope levels that no client should send, and groups that say nothing.
  Json settings();
  /// One of the instance, two domains and three projects, or of a project that two domains share.
  Json key();

 private:
  Json leaf(const std::string& path, const std::string& member);
  Json value(const std::string& path, const std::string& member);
  Json entries();
  Json accelerator();

  std::mt19937_64 engine_;
};

/// WRIT_SEED when it is set, else nothing.
std::optional<std::uint64_t> seed_from_environment();

}  // namespace writ::test
