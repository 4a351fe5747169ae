#include "events/tiles.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "events/array_literal.h"

namespace writ {
namespace {

// Not beside the insert of the events: it would not see them. Should hashes be missing, the table's
// checks refuse the tile.
constexpr char kFromEvents[] =
    "SELECT string_agg(leaf_hash, ''::bytea ORDER BY position) FROM events"
    " WHERE position BETWEEN ";
constexpr char kFromTiles[] =
    "SELECT string_agg(root, ''::bytea ORDER BY index) FROM tiles WHERE level = ";

// Each tile that is wanted, in one round trip, wherever it is kept.
constexpr char kTiles[] = R"sql(
SELECT encode(CASE
    WHEN wanted.width = 256 THEN
      (SELECT hashes FROM tiles WHERE tiles.level = wanted.level AND tiles.index = wanted.index)
    WHEN wanted.level = 0 THEN
      (SELECT string_agg(leaf_hash, ''::bytea ORDER BY position) FROM events
       WHERE position BETWEEN wanted.index * 256 + 1 AND wanted.index * 256 + wanted.width)
    ELSE
      (SELECT string_agg(root, ''::bytea ORDER BY tiles.index) FROM tiles
       WHERE tiles.level = wanted.level - 1
       AND tiles.index BETWEEN wanted.index * 256 AND wanted.index * 256 + wanted.width - 1)
  END, 'hex')
FROM unnest($1::integer[], $2::bigint[], $3::integer[]) WITH ORDINALITY
     AS wanted (level, index, width, ord) ORDER BY ord)sql";

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

void prepare_tile_queries(Connection& connection) { connection.prepare("tiles", kTiles); }

void TileReader::fetch(const std::set<TileId>& tiles) {
  ArrayLiteral levels, indexes, widths;
  std::vector<std::pair<TileId, std::size_t>> wanted;
  for (const TileId& tile : tiles) {
    const int width = tile_width(tile, size_.value);
    if (width == 0 || tiles_.contains(tile)) continue;
    levels.add(std::int64_t{tile.level});
    indexes.add(tile.index);
    widths.add(std::int64_t{width});
    wanted.emplace_back(tile, static_cast<std::size_t>(width) * sizeof(Digest));
  }
  if (wanted.empty()) return;
  const pqxx::result rows = connection_.exec_prepared(
      "tiles", std::move(levels).take(), std::move(indexes).take(), std::move(widths).take());
  for (const pqxx::row& row : rows) {
    const auto& [tile, bytes] = wanted.at(row.rownumber());
    std::string hashes = from_hex(row[0].c_str());
    if (hashes.size() != bytes)
      throw CorruptLog("hashes are missing of the Merkle tree's tile " + name_of(tile));
    tiles_[tile] = std::move(hashes);
  }
}

void TileReader::fetch_for(const std::function<void(const NodeReader&)>& use) {
  std::set<TileId> tiles;
  use([&](const TreeNode& node) {
    tiles.insert(tile_of(node));
    return Digest{};
  });
  fetch(tiles);
}

const std::string& TileReader::hashes(const TileId& tile) {
  fetch({tile});
  return tiles_[tile];
}

Digest TileReader::node(const TreeNode& node) { return node_in_tile(node, hashes(tile_of(node))); }

Digest root_at(Connection& connection, Position size) {
  TileReader tiles(connection, size);
  return tiles.compute<Digest>([&](const NodeReader& read) { return root_of(size.value, read); });
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

}  // namespace writ
