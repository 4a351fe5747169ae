#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "events/sha256.h"

// The Merkle tree over the log's leaf hashes, as in RFC 6962 and RFC 9162, section 2.1. Pure: no
// I/O. Leaf i is the event at position i + 1; the tree's size is the position of its last event.

namespace writ {

/// The root of the tree without leaves: SHA-256 of nothing.
Digest empty_root();

/// SHA-256(0x01 ‖ left ‖ right). That of a leaf is `leaf_hash` in events/envelope.h.
Digest node_hash(const Digest& left, const Digest& right);

/// The digest of 32 raw bytes. Throws std::invalid_argument for any other length.
Digest to_digest(std::string_view bytes);

/// A complete subtree: the leaves from `index` × 2^`height` on, 2^`height` of them.
struct TreeNode {
  int height = 0;
  std::int64_t index = 0;
  friend auto operator<=>(const TreeNode&, const TreeNode&) = default;
};

/// The right edge of a tree: the roots of the complete subtrees that it falls into, largest first.
/// All that appending needs.
class Frontier {
 public:
  /// Of the tree without leaves.
  Frontier() = default;

  /// What `bytes` gave for a tree of `size` leaves. Throws std::invalid_argument when it cannot be
  /// of that size.
  Frontier(std::int64_t size, std::string_view bytes);

  /// Adds a leaf; costs one hash on average. `completed` is called for each subtree of height 1 and
  /// more that it completes, smallest first.
  void append(const Digest& leaf,
              const std::function<void(const TreeNode&, const Digest&)>& completed = {});

  std::int64_t size() const { return size_; }
  Digest root() const;
  /// 32 bytes for each subtree.
  std::string bytes() const;

 private:
  std::int64_t size_ = 0;
  std::vector<Digest> peaks_;
};

/// The complete subtrees that a tree of `size` leaves falls into, largest first.
std::vector<TreeNode> peaks_of(std::int64_t size);

/// Answers the hash of a complete subtree, from wherever they are kept.
using NodeReader = std::function<Digest(const TreeNode&)>;

/// The root of the tree of the first `size` leaves.
Digest root_of(std::int64_t size, const NodeReader& read);

/// Hashes of a proof, in the order of the RFC.
using Proof = std::vector<Digest>;

/// That leaf `index` is in the tree of `size` leaves: PATH of RFC 9162, 2.1.3.1. 0 ≤ index < size.
Proof inclusion_proof(std::int64_t index, std::int64_t size, const NodeReader& read);

/// That the tree of `size` leaves begins with that of `old_size`: PROOF of RFC 9162, 2.1.4.1.
/// 0 ≤ old_size ≤ size. Empty when they are the same, or the old one is empty.
Proof consistency_proof(std::int64_t old_size, std::int64_t size, const NodeReader& read);

/// RFC 9162, 2.1.3.2. False for arguments that make no sense, too.
[[nodiscard]] bool verify_inclusion(std::int64_t index, std::int64_t size, const Digest& leaf,
                                    const Proof& proof, const Digest& root);

/// RFC 9162, 2.1.4.2, and for an empty old tree. False for arguments that make no sense, too.
[[nodiscard]] bool verify_consistency(std::int64_t old_size, std::int64_t size,
                                      const Digest& old_root, const Proof& proof,
                                      const Digest& root);

}  // namespace writ
