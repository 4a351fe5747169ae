#include "events/tiles.h"

#include <stdexcept>

namespace writ {
namespace {

// Not beside the insert of the events: it would not see them. Should hashes be missing, the table's
// checks refuse the tile.
constexpr char kFromEvents[] =
    "SELECT string_agg(leaf_hash, ''::bytea ORDER BY position) FROM events"
    " WHERE position BETWEEN ";
constexpr char kFromTiles[] =
    "SELECT string_agg(root, ''::bytea ORDER BY index) FROM tiles WHERE level = ";

constexpr char kFull[] = "SELECT encode(hashes, 'hex') FROM tiles WHERE level = $1 AND index = $2";
constexpr char kPartOfLeaves[] =
    "SELECT encode(string_agg(leaf_hash, ''::bytea ORDER BY position), 'hex') FROM events"
    " WHERE position BETWEEN $1 AND $2";
constexpr char kPartOfRoots[] =
    "SELECT encode(string_agg(root, ''::bytea ORDER BY index), 'hex') FROM tiles"
    " WHERE level = $1 AND index BETWEEN $2 AND $3";

std::string between(std::int64_t first, std::int64_t last) {
  std::string text = std::to_string(first);
  text += " AND ";
  return text += std::to_string(last);
}

std::string name_of(const TileId& tile) {
  std::string text = std::to_string(tile.index);
  text += " of level ";
  return text += std::to_string(tile.level);
}

pqxx::result read_tile(Connection& connection, const TileId& tile, int width) {
  if (width == kTileWidth) return connection.exec_prepared("tile", tile.level, tile.index);
  const std::int64_t first = tile.index * kTileWidth;
  if (tile.level == 0) return connection.exec_prepared("part_of_leaves", first + 1, first + width);
  return connection.exec_prepared("part_of_roots", tile.level - 1, first, first + width - 1);
}

}  // namespace

std::string fill_tile_sql(const TileId& tile, const Digest& root) {
  const std::int64_t first = tile.index * kTileWidth;
  std::string sql = "INSERT INTO tiles (level, index, hashes, root) VALUES (";
  sql += std::to_string(tile.level) + ", " + std::to_string(tile.index) + ", (";
  if (tile.level == 0) {
    sql += kFromEvents + between(first + 1, first + kTileWidth);
  } else {
    sql += kFromTiles + std::to_string(tile.level - 1) + " AND index BETWEEN ";
    sql += between(first, first + kTileWidth - 1);
  }
  return sql + "), '\\x" + hex(root) + "');";
}

Frontier frontier_at(Position head, std::string_view bytes) {
  try {
    return {head.value, bytes};
  } catch (const std::invalid_argument& e) {
    throw CorruptLog(e.what());
  }
}

TreeHead read_tree_head(Connection& connection) {
  const pqxx::result rows = connection.exec(
      "SELECT encode(log_id, 'hex'), tree_size, encode(root, 'hex'), encode(frontier, 'hex')"
      " FROM log_head");
  if (rows.size() != 1) throw CorruptLog("log_head must have exactly one row");
  try {
    return {rows[0][0].c_str(),
            {rows[0][1].as<std::int64_t>()},
            to_digest(from_hex(rows[0][2].c_str())),
            from_hex(rows[0][3].c_str())};
  } catch (const std::invalid_argument&) {
    throw CorruptLog("the root in log_head is not 32 bytes");
  }
}

void prepare_tile_queries(Connection& connection) {
  connection.prepare("tile", kFull);
  connection.prepare("part_of_leaves", kPartOfLeaves);
  connection.prepare("part_of_roots", kPartOfRoots);
}

const std::string& TileReader::hashes(const TileId& tile) {
  const auto [found, missing] = tiles_.try_emplace(tile);
  if (!missing) return found->second;
  const int width = tile_width(tile, size_.value);
  if (width == 0) return found->second;
  const pqxx::result rows = read_tile(connection_, tile, width);
  std::string hashes = rows.empty() ? std::string() : from_hex(rows[0][0].c_str());
  if (hashes.size() != static_cast<std::size_t>(width) * sizeof(Digest))
    throw CorruptLog("hashes are missing of the Merkle tree's tile " + name_of(tile));
  return found->second = std::move(hashes);
}

Digest TileReader::node(const TreeNode& node) { return node_in_tile(node, hashes(tile_of(node))); }

Digest root_at(Connection& connection, Position size) {
  TileReader tiles(connection, size);
  return root_of(size.value, [&](const TreeNode& node) { return tiles.node(node); });
}

std::vector<std::string> read_envelopes(Connection& connection, Position first, int count) {
  std::vector<std::string> envelopes;
  for (const pqxx::row& row : connection.exec_params(
           "SELECT envelope FROM events WHERE position BETWEEN $1 AND $2 ORDER BY position",
           {std::to_string(first.value), std::to_string(first.value + count - 1)}))
    envelopes.push_back(row[0].as<std::string>());
  if (envelopes.size() != static_cast<std::size_t>(count))
    throw CorruptLog("events are missing after position " + std::to_string(first.value - 1));
  return envelopes;
}

std::string trouble_of_tree(Connection& connection, const TreeHead& head) {
  try {
    const Frontier stored = frontier_at(head.size, head.frontier);
    TileReader tiles(connection, head.size);
    std::string edge;
    for (const TreeNode& peak : peaks_of(head.size.value)) edge += bytes_of(tiles.node(peak));
    if (edge != head.frontier) return "the Merkle tree's edge is not that of its tiles and events";
    if (stored.root() != head.root) return "the Merkle tree's root is not that of its edge";
    return "";
  } catch (const CorruptLog& e) {
    return e.what();
  }
}

}  // namespace writ
