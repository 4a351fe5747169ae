#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "events/merkle.h"

// The Merkle tree cut into tiles, as in C2SP tlog-tiles: tile N of level L holds the hashes of up
// to 256 complete subtrees of height 8 × L, from number 256 × N on. Pure: no I/O.

namespace writ {

inline constexpr int kTileHeight = 8;
inline constexpr int kTileWidth = 1 << kTileHeight;

/// Names one tile.
struct TileId {
  int level = 0;
  std::int64_t index = 0;
  friend auto operator<=>(const TileId&, const TileId&) = default;
};

/// How many hashes the tile has in a tree of `size` leaves: 0 to 256.
int tile_width(const TileId& tile, std::int64_t size);

/// The tile that the hash of a complete subtree is read from or computed with.
TileId tile_of(const TreeNode& node);

/// The hash of a complete subtree from its tile's hashes, 32 bytes each. Throws
/// std::invalid_argument when there are too few.
Digest node_in_tile(const TreeNode& node, std::string_view hashes);

/// The tile that is full once this subtree is complete, of which it is the root.
std::optional<TileId> tile_completed_by(const TreeNode& node);

/// A tile as a path names it: `<L>/<N>[.p/<W>]`, or `entries/<N>[.p/<W>]` for what the leaves are
/// of.
struct TileRequest {
  bool entries = false;  ///< Then level is 0.
  TileId tile;
  int width = kTileWidth;
  friend bool operator==(const TileRequest&, const TileRequest&) = default;
};

/// Reads such a path; N is `x001/x234/067`. Nothing for any other spelling.
std::optional<TileRequest> parse_tile_path(std::string_view path);

/// Writes such a path.
std::string tile_path(const TileRequest& request);

}  // namespace writ
