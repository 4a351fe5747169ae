#include "service/gzip.h"

#include <boost/test/unit_test.hpp>

#include <string>

namespace writ {
namespace {

std::string inflated(std::string_view bytes, std::size_t limit) {
  auto result = gunzip(bytes, limit);
  if (const auto* const text = std::get_if<std::string>(&result)) return *text;
  return std::get<GzipError>(result) == GzipError::kTooLarge ? "<too large>" : "<malformed>";
}

BOOST_AUTO_TEST_SUITE(gzip_bytes)

BOOST_AUTO_TEST_CASE(what_was_compressed_comes_back) {
  std::string mixed;
  for (unsigned i = 0; i < 300'000; ++i) mixed.push_back(static_cast<char>((i * i * 7919) >> 7));
  for (const std::size_t size : {0, 1, 600, 4096, 40'000, 300'000}) {
    for (const int level : {1, 6}) {
      const std::string text = mixed.substr(0, size);
      BOOST_TEST((inflated(gzip(text, level), text.size()) == text),
                 size << " bytes, level " << level);
    }
  }
}

BOOST_AUTO_TEST_CASE(inflating_stops_at_the_limit) {
  const std::string bomb = gzip(std::string(10'000'000, 'x'), 6);
  BOOST_TEST(bomb.size() < 50'000U);
  BOOST_TEST(inflated(bomb, 9'999'999) == "<too large>");
  BOOST_TEST(inflated(bomb, 1000) == "<too large>");
  BOOST_TEST(inflated(bomb, 10'000'000).size() == 10'000'000U);
}

BOOST_AUTO_TEST_CASE(several_members_are_one_text) {
  BOOST_TEST(inflated(gzip("one ") + gzip("") + gzip("two"), 100) == "one two");
  BOOST_TEST(inflated(gzip("one ") + gzip("two"), 6) == "<too large>");
}

BOOST_AUTO_TEST_CASE(damage_is_noticed) {
  const std::string good = gzip("some text that is long enough to be worth it");
  BOOST_TEST(inflated("", 100) == "<malformed>");
  BOOST_TEST(inflated("plain text", 100) == "<malformed>");
  BOOST_TEST(inflated(good + "x", 100) == "<malformed>");
  for (std::size_t size = 1; size < good.size(); ++size) {
    BOOST_TEST(inflated(good.substr(0, size), 100) == "<malformed>", size << " bytes of it");
  }
  std::string flipped = good;
  flipped[flipped.size() - 6] ^= 1;  // in the checksum
  BOOST_TEST(inflated(flipped, 100) == "<malformed>");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
