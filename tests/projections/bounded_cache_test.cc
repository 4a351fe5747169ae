#include "projections/bounded_cache.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

namespace writ {
namespace {

using Cache = BoundedCache<std::string, int>;

bool has(Cache& cache, const std::string& key, int value) {
  const int* const found = cache.find(key);
  return found != nullptr && *found == value;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bounded_cache)

BOOST_AUTO_TEST_CASE(what_is_asked_for_stays_and_what_is_not_goes) {
  Cache cache(4);
  cache.keep("asked", 1);
  for (int i = 0; i < 100; ++i) {
    cache.keep(std::to_string(i), i);
    BOOST_REQUIRE(has(cache, "asked", 1));
    BOOST_REQUIRE(has(cache, std::to_string(i), i));
  }
  BOOST_CHECK(cache.find("0") == nullptr);
  BOOST_CHECK(cache.find("90") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_value_takes_the_place_of_the_one_before_wherever_that_is) {
  Cache cache(4);
  cache.keep("a", 1);
  cache.keep("a", 2);
  BOOST_CHECK(has(cache, "a", 2));
  cache.keep("b", 0);
  cache.keep("c", 0);  // "a" and "b" are now the older half
  cache.keep("a", 3);
  BOOST_CHECK(has(cache, "a", 3));
  cache.keep("a", 4, 3);  // too heavy
  BOOST_CHECK(cache.find("a") == nullptr);
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_the_last_value_and_weighs_no_more_than_allowed) {
  constexpr std::size_t kCapacity = 20;
  constexpr std::size_t kKeys = 30;
  struct Last {
    int value = 0;
    std::size_t weight = 0;
  };
  std::array<Last, kKeys> last;
  std::mt19937 random(7);
  Cache cache(kCapacity);
  for (int i = 1; i < 20000; ++i) {
    const std::size_t which = random() % kKeys;
    last[which] = {i, 1 + random() % 12};
    cache.keep(std::to_string(which), i, last[which].weight);
    std::size_t weight = 0;
    const std::size_t asked = random() % 4 == 0 ? kKeys : random() % 4;
    for (std::size_t j = 0; j < asked; ++j) {
      const int* const found = cache.find(std::to_string(j));
      if (found == nullptr) continue;
      BOOST_REQUIRE_EQUAL(*found, last[j].value);
      weight += last[j].weight;
    }
    BOOST_REQUIRE_LE(weight, kCapacity);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
