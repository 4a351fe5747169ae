#include "service/request_id.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace writ {
namespace {

constexpr std::size_t kLongestId = 128;

std::string make_id() {
  // Ids need to be distinct, not secret.
  thread_local std::mt19937_64 random{[] {
    std::random_device seed;
    return (std::uint64_t{seed()} << 32) | seed();
  }()};
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string id(32, '0');
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t bits = random();
    for (std::size_t i = 0; i < 16; ++i, bits >>= 4) id[half * 16 + i] = kHex[bits & 15];
  }
  return id;
}

}  // namespace

std::string request_id_for(std::string_view sent) {
  const bool usable =
      !sent.empty() && sent.size() <= kLongestId &&
      std::all_of(sent.begin(), sent.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  return usable ? std::string(sent) : make_id();
}

}  // namespace writ
