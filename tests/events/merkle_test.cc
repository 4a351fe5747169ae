#include "events/merkle.h"

#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "events/envelope.h"
#include "tests/events/memory_tree.h"

namespace writ {
namespace {

Digest digest_of(simdjson::dom::element text) {
  return to_digest(from_hex(std::string_view(text)));
}

Proof proof_of(simdjson::dom::element path) {
  Proof proof;
  for (const simdjson::dom::element hash : path.get_array()) proof.push_back(digest_of(hash));
  return proof;
}

std::vector<std::string> texts(const Proof& proof) {
  std::vector<std::string> out;
  for (const Digest& hash : proof) out.push_back(hex(hash));
  return out;
}

struct Vectors {
  Vectors() : all(parser.load(WRIT_SOURCE_DIR "/tests/events/merkle_vectors.json")) {
    for (const simdjson::dom::element leaf : all["leaf_hashes"].get_array())
      tree.append(digest_of(leaf));
  }
  simdjson::dom::parser parser;
  simdjson::dom::element all;
  MemoryTree tree;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(merkle_tests)

BOOST_FIXTURE_TEST_CASE(vectors_give_the_published_hashes, Vectors) {
  std::size_t i = 0;
  for (const simdjson::dom::element leaf : all["leaves_hex"].get_array())
    BOOST_CHECK_EQUAL(hex(leaf_hash(from_hex(std::string_view(leaf)))), hex(tree.leaf(i++)));
  BOOST_CHECK_EQUAL(i, 8u);
  int roots = 0;
  for (const auto& [size, root] : all["roots"].get_object()) {
    Frontier frontier;
    for (int leaf = 0; leaf < std::stoi(std::string(size)); ++leaf)
      frontier.append(tree.leaf(leaf));
    BOOST_CHECK_EQUAL(hex(frontier.root()), std::string_view(root));
    BOOST_CHECK_EQUAL(hex(root_of(frontier.size(), tree.reader())), std::string_view(root));
    ++roots;
  }
  BOOST_CHECK_EQUAL(roots, 9);
}

BOOST_FIXTURE_TEST_CASE(vectors_give_the_published_proofs, Vectors) {
  int seen = 0;
  for (const simdjson::dom::element one : all["inclusion"].get_array()) {
    const auto index = std::int64_t(one["index"]), size = std::int64_t(one["size"]);
    const Proof proof = inclusion_proof(index, size, tree.reader());
    BOOST_TEST(texts(proof) == texts(proof_of(one["path"])), boost::test_tools::per_element());
    BOOST_CHECK(verify_inclusion(index, size, digest_of(one["leaf_hash"]), proof,
                                 root_of(size, tree.reader())));
    ++seen;
  }
  for (const simdjson::dom::element one : all["consistency"].get_array()) {
    const auto from = std::int64_t(one["from"]), to = std::int64_t(one["to"]);
    const Proof proof = consistency_proof(from, to, tree.reader());
    BOOST_TEST(texts(proof) == texts(proof_of(one["path"])), boost::test_tools::per_element());
    BOOST_CHECK(verify_consistency(from, to, root_of(from, tree.reader()), proof,
                                   root_of(to, tree.reader())));
    ++seen;
  }
  BOOST_CHECK_GE(seen, 8);
}

BOOST_AUTO_TEST_CASE(a_frontier_goes_on_from_its_bytes) {
  Frontier whole;
  for (std::int64_t size = 0; size < 600; ++size) {
    Frontier read(whole.size(), whole.bytes());
    const Digest leaf = sha256(std::to_string(size));
    whole.append(leaf);
    read.append(leaf);
    BOOST_REQUIRE_EQUAL(hex(read.root()), hex(whole.root()));
    BOOST_REQUIRE_EQUAL(read.size(), size + 1);
  }
}

BOOST_AUTO_TEST_CASE(a_frontier_of_another_size_is_refused) {
  const std::string two(64, 'x');
  BOOST_CHECK_NO_THROW(Frontier(3, two));
  for (const std::int64_t size : {-1, 0, 1, 2, 4, 7})
    BOOST_CHECK_THROW(Frontier(size, two), std::invalid_argument);
  BOOST_CHECK_THROW(Frontier(3, two.substr(1)), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(an_append_costs_one_hash_on_average) {
  Frontier frontier;
  int hashes = 0;
  for (int i = 0; i < 4096; ++i)
    frontier.append(sha256(""), [&](const TreeNode&, const Digest&) { ++hashes; });
  BOOST_CHECK_EQUAL(hashes, 4095);
}

BOOST_AUTO_TEST_CASE(every_proof_holds_and_none_holds_for_anything_else) {
  MemoryTree tree;
  constexpr std::int64_t kLargest = 70;
  for (std::int64_t i = 0; i < kLargest; ++i) tree.append(sha256(std::to_string(i)));
  const Digest other = sha256("other");
  const auto read = tree.reader();
  for (std::int64_t size = 1; size <= kLargest; ++size) {
    const Digest root = root_of(size, read);
    for (std::int64_t index = 0; index < size; ++index) {
      const Digest leaf = tree.leaf(static_cast<std::size_t>(index));
      Proof proof = inclusion_proof(index, size, read);
      BOOST_REQUIRE(verify_inclusion(index, size, leaf, proof, root));
      BOOST_REQUIRE(!verify_inclusion(index, size, other, proof, root));
      BOOST_REQUIRE(!verify_inclusion(index, size, leaf, proof, other));
      BOOST_REQUIRE(!verify_inclusion(size, size, leaf, proof, root));
      BOOST_REQUIRE(!verify_inclusion(-1, size, leaf, proof, root));
      if (size > 1) BOOST_REQUIRE(!verify_inclusion((index + 1) % size, size, leaf, proof, root));
      proof.push_back(other);
      BOOST_REQUIRE(!verify_inclusion(index, size, leaf, proof, root));
    }
    for (std::int64_t old_size = 0; old_size <= size; ++old_size) {
      const Digest old_root = root_of(old_size, read);
      Proof proof = consistency_proof(old_size, size, read);
      BOOST_REQUIRE(verify_consistency(old_size, size, old_root, proof, root));
      BOOST_REQUIRE(!verify_consistency(old_size, size, other, proof, root));
      BOOST_REQUIRE(!verify_consistency(size + 1, size, old_root, proof, root));
      if (old_size > 0) BOOST_REQUIRE(!verify_consistency(old_size, size, old_root, proof, other));
      if (!proof.empty()) {
        proof.back() = other;
        BOOST_REQUIRE(!verify_consistency(old_size, size, old_root, proof, root));
        proof.pop_back();
        BOOST_REQUIRE(!verify_consistency(old_size, size, old_root, proof, root));
      } else {
        proof.push_back(other);
        BOOST_REQUIRE(!verify_consistency(old_size, size, old_root, proof, root));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_proof_of_what_is_not_there_is_a_bug_of_the_caller) {
  MemoryTree tree;
  tree.append(sha256(""));
  BOOST_CHECK_THROW(inclusion_proof(1, 1, tree.reader()), std::invalid_argument);
  BOOST_CHECK_THROW(inclusion_proof(-1, 1, tree.reader()), std::invalid_argument);
  BOOST_CHECK_THROW(consistency_proof(2, 1, tree.reader()), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
