#include "events/tile.h"

#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "tests/events/memory_tree.h"

namespace writ {
namespace {

struct PathRow {
  const char* path;
  TileRequest request;
};

const PathRow kPaths[] = {
    {"0/000", {false, {0, 0}, 256}},
    {"0/000.p/1", {false, {0, 0}, 1}},
    {"1/255.p/255", {false, {1, 255}, 255}},
    {"0/x001/234", {false, {0, 1234}, 256}},
    {"2/x001/x234/067.p/128", {false, {2, 1'234'067}, 128}},
    {"7/x001/000", {false, {7, 1000}, 256}},
    {"entries/x001/234.p/9", {true, {0, 1234}, 9}},
    {"entries/000", {true, {0, 0}, 256}},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tile_tests)

BOOST_AUTO_TEST_CASE(paths_are_those_of_tlog_tiles) {
  for (const PathRow& row : kPaths) {
    BOOST_TEST_CONTEXT(row.path) {
      const auto parsed = parse_tile_path(row.path);
      BOOST_REQUIRE(parsed);
      BOOST_CHECK(*parsed == row.request);
      BOOST_CHECK_EQUAL(tile_path(row.request), row.path);
    }
  }
}

BOOST_AUTO_TEST_CASE(any_other_spelling_of_a_path_is_none) {
  for (const char* path : {"",
                           "0",
                           "0/",
                           "/000",
                           "0/0",
                           "0/00",
                           "0/0000",
                           "00/000",
                           "8/000",
                           "-1/000",
                           "+1/000",
                           "a/000",
                           "data/000",
                           "0/000/",
                           "0/000/001",
                           "0/x000/001",
                           "0/x001",
                           "0/x001/",
                           "0/x001234",
                           "0/001/234",
                           "0/X001/234",
                           "0/000.p",
                           "0/000.p/",
                           "0/000.p/0",
                           "0/000.p/256",
                           "0/000.p/01",
                           "0/000.p/1/",
                           "0/000.p/-1",
                           "0/000.p/1.p/1",
                           "0/ 00",
                           "0/00a",
                           "0/x001/x000/x000/x000/x000/000",
                           "entries",
                           "entries/",
                           "entries/0",
                           "Entries/000"})
    BOOST_CHECK_MESSAGE(!parse_tile_path(path), "accepted: " << path);
}

BOOST_AUTO_TEST_CASE(a_tile_is_as_wide_as_the_tree_lets_it) {
  struct Row {
    TileId tile;
    std::int64_t size;
    int width;
  };
  for (const Row& row :
       {Row{{0, 0}, 0, 0}, Row{{0, 0}, 1, 1}, Row{{0, 0}, 255, 255}, Row{{0, 0}, 256, 256},
        Row{{0, 0}, 1000, 256}, Row{{0, 1}, 256, 0}, Row{{0, 1}, 257, 1}, Row{{1, 0}, 255, 0},
        Row{{1, 0}, 256, 1}, Row{{1, 0}, 65'535, 255}, Row{{1, 0}, 65'536, 256},
        Row{{2, 0}, 65'536, 1}, Row{{7, 0}, 65'536, 0}})
    BOOST_CHECK_EQUAL(tile_width(row.tile, row.size), row.width);
}

BOOST_AUTO_TEST_CASE(every_subtree_is_found_in_its_tile) {
  constexpr std::int64_t kSize = 1 << 10;
  MemoryTree tree;
  for (std::int64_t i = 0; i < kSize; ++i) tree.append(sha256(std::to_string(i)));
  const auto read = tree.reader();
  for (int height = 0; height <= 10; ++height)
    for (std::int64_t index = 0; index < kSize >> height; ++index) {
      const TreeNode node{height, index};
      const TileId tile = tile_of(node);
      std::string hashes;
      for (int i = 0; i < tile_width(tile, kSize); ++i)
        hashes += bytes_of(read({tile.level * kTileHeight, tile.index * kTileWidth + i}));
      BOOST_REQUIRE_EQUAL(hex(node_in_tile(node, hashes)), hex(read(node)));
    }
  BOOST_CHECK_THROW(node_in_tile({1, 0}, std::string(63, 'x')), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_tile_is_full_when_its_subtree_is_complete) {
  BOOST_CHECK(!tile_completed_by({0, 5}));
  BOOST_CHECK(!tile_completed_by({7, 5}));
  BOOST_CHECK(tile_completed_by({8, 5}) == (TileId{0, 5}));
  BOOST_CHECK(!tile_completed_by({9, 5}));
  BOOST_CHECK(tile_completed_by({16, 0}) == (TileId{1, 0}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
