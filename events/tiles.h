#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "events/connection.h"
#include "events/event.h"
#include "events/merkle.h"
#include "events/tile.h"

namespace writ {

/// What stores a tile that is full now: a statement, to be run once the tile's last event is
/// inserted. `root` is the hash of the subtree that the tile is of.
std::string fill_tile_sql(const TileId& tile, const Digest& root);

/// The frontier that `log_head` has for a log of this many events. Throws CorruptLog when it cannot
/// be of that.
Frontier frontier_at(Position head, std::string_view bytes);

/// The log's tree as `log_head` says it is.
struct TreeHead {
  std::string log_id;  ///< Hex.
  Position size;
  Digest root;
  std::string frontier;  ///< Its bytes.
};
TreeHead read_tree_head(Connection& connection);

/// Prepares what TileReader runs. Once a connection.
void prepare_tile_queries(Connection& connection);

/// Reads the hashes of one tree, each tile once. For one thread.
class TileReader {
 public:
  /// `size` is not beyond the head. Needs prepare_tile_queries.
  TileReader(Connection& connection, Position size) : connection_(connection), size_(size) {}

  /// The tile's hashes as far as the tree has them, 32 bytes each. Throws CorruptLog when some are
  /// missing.
  const std::string& hashes(const TileId& tile);

  /// The hash of a complete subtree of this tree.
  Digest node(const TreeNode& node);

  /// What `use` computes from hashes of the tree – a root, a proof. The tiles that it needs are
  /// read in one round trip: it is run twice, the first time with hashes of zeros.
  template <typename Result>
  Result compute(const std::function<Result(const NodeReader&)>& use) {
    fetch_for([&](const NodeReader& read) { use(read); });
    return use([this](const TreeNode& one) { return node(one); });
  }

  /// How many tiles were read so far: O(log size) of them for a proof or a root.
  std::size_t reads() const { return tiles_.size(); }

 private:
  void fetch(const std::set<TileId>& tiles);
  void fetch_for(const std::function<void(const NodeReader&)>& use);

  Connection& connection_;
  Position size_;
  std::map<TileId, std::string> tiles_;
};

/// The root of the log's first `size` events, from the tiles.
Digest root_at(Connection& connection, Position size);

/// The envelopes of `count` events from the position `first` on.
std::vector<std::string> read_envelopes(Connection& connection, Position first, int count);

}  // namespace writ
