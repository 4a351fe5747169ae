#pragma once

#include <map>
#include <vector>

#include "events/merkle.h"

namespace writ {

/// A Merkle tree with every complete subtree in memory.
class MemoryTree {
 public:
  void append(const Digest& leaf) {
    leaves_.push_back(leaf);
    nodes_[{0, frontier_.size()}] = leaf;
    frontier_.append(leaf,
                     [this](const TreeNode& node, const Digest& hash) { nodes_[node] = hash; });
  }
  const Digest& leaf(std::size_t index) const { return leaves_.at(index); }
  NodeReader reader() const {
    return [this](const TreeNode& node) { return nodes_.at(node); };
  }

 private:
  std::vector<Digest> leaves_;
  std::map<TreeNode, Digest> nodes_;
  Frontier frontier_;
};

}  // namespace writ
