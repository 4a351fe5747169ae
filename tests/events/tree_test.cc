// The Merkle tree as the append moves it, and as proofs read it.

#include <boost/test/unit_test.hpp>

#include "events/log_check.h"
#include "events/tiles.h"
#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"
#include "tests/support/tree_checks.h"

namespace writ {
namespace {

struct TreeFixture : LogFixture {
  /// Appends `count` events in commands of `batch` events each.
  void grow(std::int64_t count, std::size_t batch) {
    const auto sequencer = this->sequencer();
    for (std::int64_t done = 0; done < count; done += static_cast<std::int64_t>(batch))
      accepted(submit(*sequencer, counter_command(Operations(batch, Add{"a", 1}))));
  }

  /// A log of this many events, whose tree is not there.
  void fill(std::int64_t events) {
    owner.exec(
        "SET synchronous_commit = off; SET statement_timeout = 0; INSERT INTO events (position,"
        " stream, version, type, recorded_at, actor, reason, request_id, command_id, payload,"
        " payload_salt, envelope, leaf_hash) SELECT i, 'counter/b', i, 'counter.added',"
        " 'epoch'::timestamptz + i * interval '1 s', 'a', '', '', gen_random_uuid(),"
        " '{\"total\":' || i || '}', '\\x00', i::text, sha256('\\x00'::bytea || i::text::bytea)"
        " FROM generate_series(1, " +
        std::to_string(events) + ") i");
    Frontier tree;
    std::string tiles;
    for (std::int64_t i = 1; i <= events; ++i)
      tree.append(sha256(std::string_view("\0", 1), std::to_string(i)),
                  [&](const TreeNode& node, const Digest& hash) {
                    if (const auto tile = tile_completed_by(node))
                      tiles += fill_tile_sql(*tile, hash);
                  });
    if (!tiles.empty()) owner.exec(tiles);
    owner.exec_params(
        "UPDATE log_head SET position = $1, tree_size = $1, root = $2::bytea, frontier ="
        " $3::bytea, recorded_at = (SELECT max(recorded_at) FROM events)",
        {std::to_string(events), "\\x" + hex(tree.root()), "\\x" + hex(tree.bytes())});
    owner.exec("ANALYZE events; ANALYZE tiles");
  }

  Connection& reader() {
    if (!reader_) {
      reader_ = std::make_unique<Connection>(database.app());
      prepare_tile_queries(*reader_);
    }
    return *reader_;
  }

 private:
  std::unique_ptr<Connection> reader_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tree_tests, TreeFixture)

BOOST_AUTO_TEST_CASE(a_new_log_has_the_root_of_nothing) {
  const TreeHead head = read_tree_head(owner);
  BOOST_CHECK_EQUAL(head.size.value, 0);
  BOOST_CHECK_EQUAL(hex(head.root), hex(empty_root()));
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(lone_events_fill_tiles) {
  grow(520, 1);
  BOOST_CHECK_EQUAL(number("SELECT count(*) FROM tiles"), 2);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_batch_may_fill_a_tile_anywhere_in_it) {
  grow(1001, 13);
  BOOST_CHECK_EQUAL(number("SELECT count(*) FROM tiles"), 3);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_batch_may_fill_several_tiles) {
  grow(1400, 700);
  BOOST_CHECK_EQUAL(number("SELECT count(*) FROM tiles"), 5);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_tile_that_was_filled_for_nothing_is_taken_back) {
  grow(250, 1);
  const auto sequencer = this->sequencer();
  // The look-up has what is staged written, past the 256th event; then the command is rejected.
  Operations operations(10, Add{"a", 1});
  operations.emplace_back(AddIfTotalBelow{"a", 1, 0});
  BOOST_CHECK(is_rejected(submit(*sequencer, counter_command(operations)), 10));
  BOOST_CHECK_EQUAL(number("SELECT count(*) FROM tiles"), 0);
  check_log(*this);
  // The same within a batch, between commands that are accepted.
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  pile.add(counter_command({Add{"b", 1}}));
  pile.add(counter_command(operations));
  pile.add(counter_command(Operations(10, Add{"b", 1})));
  const auto results = pile.release();
  BOOST_CHECK(is_rejected(results[2], 10));
  accepted(results[3]);
  BOOST_CHECK_EQUAL(events(), 262);
  BOOST_CHECK_EQUAL(number("SELECT count(*) FROM tiles"), 1);
  BOOST_CHECK(!fell_back());
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_second_level_fills) {
  fill(65'530);
  grow(10, 1);
  BOOST_CHECK_EQUAL(number("SELECT count(*) FROM tiles WHERE level = 1"), 1);
  BOOST_TEST(broken_tree(owner) == std::vector<std::string>{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_edge_that_cannot_be_of_the_log_stops_the_writing) {
  grow(3, 1);
  const auto sequencer = this->sequencer();
  owner.exec("UPDATE log_head SET frontier = substr(frontier, 1, 32)");
  const auto result = submit(*sequencer, counter_command({Add{"a", 1}}));
  BOOST_CHECK_MESSAGE(is_error<CorruptLog>(result), error_text(result));
  BOOST_CHECK_EQUAL(events(), 3);
}

BOOST_AUTO_TEST_CASE(a_root_of_any_size_is_read_from_the_tiles) {
  fill(1000);
  Connection& connection = reader();
  Frontier tree;
  BOOST_CHECK_EQUAL(hex(root_at(connection, {0})), hex(tree.root()));
  for (std::int64_t size = 1; size <= 1000; ++size) {
    tree.append(sha256(std::string_view("\0", 1), std::to_string(size)));
    BOOST_REQUIRE_EQUAL(hex(root_at(connection, {size})), hex(tree.root()));
  }
}

BOOST_AUTO_TEST_CASE(a_proof_reads_two_tiles_a_level_at_most) {
  constexpr std::int64_t kSize = 200'003;  // three levels
  fill(kSize);
  Connection& connection = reader();
  const Digest root = root_at(connection, {kSize});
  BOOST_CHECK_EQUAL(hex(root), hex(read_tree_head(connection).root));
  for (const std::int64_t index :
       {0L, 1L, 255L, 256L, 65'535L, 65'536L, 100'000L, 199'680L, 199'999L, 200'002L}) {
    TileReader tiles(connection, {kSize});
    const auto proof = tiles.compute<Proof>(
        [&](const NodeReader& read) { return inclusion_proof(index, kSize, read); });
    BOOST_CHECK_LE(tiles.reads(), 6u);
    BOOST_CHECK(verify_inclusion(
        index, kSize, sha256(std::string_view("\0", 1), std::to_string(index + 1)), proof, root));
    TileReader more(connection, {kSize});
    const auto grown = more.compute<Proof>(
        [&](const NodeReader& read) { return consistency_proof(index + 1, kSize, read); });
    BOOST_CHECK_LE(more.reads(), 6u);
    BOOST_CHECK(
        verify_consistency(index + 1, kSize, root_at(connection, {index + 1}), grown, root));
  }
}

BOOST_AUTO_TEST_CASE(a_tile_that_lost_hashes_is_corrupt) {
  fill(300);
  owner.exec("ALTER TABLE tiles DISABLE TRIGGER ALL; DELETE FROM tiles");
  Connection& connection = reader();
  BOOST_CHECK_THROW(root_at(connection, {300}), CorruptLog);
}

BOOST_AUTO_TEST_CASE(what_was_done_to_the_edge_is_found) {
  struct Row {
    const char* name;
    const char* sql;
    const char* why;
  };
  for (const Row& row :
       {Row{"nothing", "SELECT 1", ""},
        Row{"another root", "UPDATE log_head SET root = sha256('another')", "root is not that"},
        Row{"a swapped frontier",
            "UPDATE log_head SET frontier = substr(frontier, 33) || substr(frontier, 1, 32)",
            "edge is not that"},
        Row{"a short frontier", "UPDATE log_head SET frontier = substr(frontier, 1, 32)",
            "not of a tree of 300 leaves"},
        Row{"a newest event", "UPDATE events SET leaf_hash = sha256('x') WHERE position = 299",
            "edge is not that"},
        Row{"a missing event", "DELETE FROM events WHERE position = 299", "hashes are missing"},
        Row{"a tile's root", "UPDATE tiles SET root = sha256('another')", "edge is not that"}})
    BOOST_TEST_CONTEXT(row.name) {
      TreeFixture fixture;
      fixture.fill(300);
      fixture.owner.exec(
          "ALTER TABLE events DISABLE TRIGGER ALL; ALTER TABLE tiles DISABLE TRIGGER ALL");
      fixture.owner.exec(row.sql);
      Connection& connection = fixture.reader();
      const std::string why = trouble_of_tree(connection, read_tree_head(connection));
      BOOST_CHECK_MESSAGE(*row.why == '\0' ? why.empty() : why.find(row.why) != std::string::npos,
                          why);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
