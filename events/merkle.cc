#include "events/merkle.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace writ {
namespace {

std::uint64_t bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }

/// The leaves from `begin` up to, not including, `end`.
struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

/// Where the RFC splits a range of more than one leaf: at the largest power of two below its size.
std::int64_t split(const Range& range) {
  return range.begin + static_cast<std::int64_t>(std::bit_floor(bits(range.size() - 1)));
}

/// Complete subtrees of a range that begins where one of its size could; largest first.
std::vector<TreeNode> peaks_of(const Range& range) {
  std::vector<TreeNode> peaks;
  for (std::int64_t at = range.begin; at < range.end;) {
    const auto height = static_cast<int>(std::bit_width(bits(range.end - at))) - 1;
    peaks.push_back({height, at >> height});
    at += std::int64_t{1} << height;
  }
  return peaks;
}

Digest fold(const std::vector<Digest>& peaks) {
  Digest root = peaks.back();
  for (std::size_t i = peaks.size() - 1; i > 0; --i) root = node_hash(peaks[i - 1], root);
  return root;
}

/// MTH of the RFC for a range of at least one leaf.
Digest hash_of(const Range& range, const NodeReader& read) {
  std::vector<Digest> hashes;
  for (const TreeNode& peak : peaks_of(range)) hashes.push_back(read(peak));
  return fold(hashes);
}

void check_sizes(bool sensible) {
  if (!sensible) throw std::invalid_argument("a proof of a leaf or tree that is not there");
}

}  // namespace

Digest empty_root() { return sha256(""); }

Digest node_hash(const Digest& left, const Digest& right) {
  std::array<char, 65> text;
  text[0] = '\x01';
  std::ranges::copy(bytes_of(left), text.begin() + 1);
  std::ranges::copy(bytes_of(right), text.begin() + 33);
  return sha256({text.data(), text.size()});
}

Digest to_digest(std::string_view bytes) {
  Digest digest;
  if (bytes.size() != digest.size()) throw std::invalid_argument("a hash is not 32 bytes");
  std::ranges::copy(bytes, digest.begin());
  return digest;
}

Frontier::Frontier(std::int64_t size, std::string_view bytes) : size_(size) {
  const auto peaks = static_cast<std::size_t>(std::popcount(bits(size)));
  if (size < 0 || bytes.size() != peaks * sizeof(Digest))
    throw std::invalid_argument("the frontier is not of a tree of " + std::to_string(size) +
                                " leaves");
  for (std::size_t i = 0; i < peaks; ++i)
    peaks_.push_back(to_digest(bytes.substr(i * sizeof(Digest), sizeof(Digest))));
}

void Frontier::append(const Digest& leaf,
                      const std::function<void(const TreeNode&, const Digest&)>& completed) {
  peaks_.push_back(leaf);
  ++size_;
  for (int height = 1; (size_ >> height << height) == size_; ++height) {
    const Digest right = peaks_.back();
    peaks_.pop_back();
    peaks_.back() = node_hash(peaks_.back(), right);
    if (completed) completed({height, (size_ >> height) - 1}, peaks_.back());
  }
}

Digest Frontier::root() const { return peaks_.empty() ? empty_root() : fold(peaks_); }

std::string Frontier::bytes() const {
  std::string bytes;
  for (const Digest& peak : peaks_) bytes += bytes_of(peak);
  return bytes;
}

std::vector<TreeNode> peaks_of(std::int64_t size) { return peaks_of(Range{0, size}); }

Digest root_of(std::int64_t size, const NodeReader& read) {
  return size == 0 ? empty_root() : hash_of({0, size}, read);
}

Proof inclusion_proof(std::int64_t index, std::int64_t size, const NodeReader& read) {
  check_sizes(index >= 0 && index < size);
  Proof proof;
  for (Range range{0, size}; range.size() > 1;) {
    const std::int64_t middle = split(range);
    const Range left{range.begin, middle}, right{middle, range.end};
    proof.push_back(hash_of(index < middle ? right : left, read));
    range = index < middle ? left : right;
  }
  std::ranges::reverse(proof);
  return proof;
}

Proof consistency_proof(std::int64_t old_size, std::int64_t size, const NodeReader& read) {
  check_sizes(old_size >= 0 && old_size <= size);
  if (old_size == 0 || old_size == size) return {};
  Proof proof;
  Range range{0, size};
  while (range.end != old_size) {
    const std::int64_t middle = split(range);
    const Range left{range.begin, middle}, right{middle, range.end};
    proof.push_back(hash_of(old_size <= middle ? right : left, read));
    range = old_size <= middle ? left : right;
  }
  // What is left is a subtree of both. When it is all of the old tree, its root is known.
  if (range.begin > 0) proof.push_back(hash_of(range, read));
  std::ranges::reverse(proof);
  return proof;
}

namespace {

/// The way from a node up to the root of a tree, as RFC 9162 section 2.1.3.2 and 2.1.4.2 have it.
struct Climb {
  std::uint64_t node, last;  // of its level: the node's number, and that of the last one

  bool at_root() const { return last == 0; }

  /// Goes past the node's next sibling, and past the levels where it has none. Whether that sibling
  /// is to its left.
  bool up() {
    const bool left = node % 2 == 1 || node == last;
    if (left)
      while (node % 2 == 0 && node != 0) shift(1);
    shift(1);
    return left;
  }

  void shift(int levels) {
    node >>= levels;
    last >>= levels;
  }
};

}  // namespace

bool verify_inclusion(std::int64_t index, std::int64_t size, const Digest& leaf, const Proof& proof,
                      const Digest& root) {
  if (index < 0 || index >= size) return false;
  Climb climb{bits(index), bits(size - 1)};
  Digest hash = leaf;
  for (const Digest& other : proof) {
    if (climb.at_root()) return false;
    hash = climb.up() ? node_hash(other, hash) : node_hash(hash, other);
  }
  return climb.at_root() && hash == root;
}

bool verify_consistency(std::int64_t old_size, std::int64_t size, const Digest& old_root,
                        const Proof& proof, const Digest& root) {
  if (old_size < 0 || old_size > size) return false;
  if (old_size == size) return proof.empty() && old_root == root;
  if (old_size == 0) return proof.empty() && old_root == empty_root();
  std::size_t next = 0;
  const bool starts_whole = std::has_single_bit(bits(old_size));
  if (!starts_whole && proof.empty()) return false;
  Digest old_hash = starts_whole ? old_root : proof[next++];
  Digest hash = old_hash;
  Climb climb{bits(old_size - 1), bits(size - 1)};
  climb.shift(std::countr_one(climb.node));
  for (; next < proof.size(); ++next) {
    const Digest& other = proof[next];
    if (climb.at_root()) return false;
    if (climb.up()) {
      old_hash = node_hash(other, old_hash);
      hash = node_hash(other, hash);
    } else {
      hash = node_hash(hash, other);
    }
  }
  return climb.at_root() && old_hash == old_root && hash == root;
}

}  // namespace writ
