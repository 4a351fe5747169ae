#include "tests/support/tree_checks.h"

#include <map>

#include "events/tiles.h"

namespace writ {

std::vector<std::string> broken_tree(Connection& connection) {
  std::vector<std::string> broken;
  Frontier tree;
  std::map<TileId, std::pair<std::string, std::string>> tiles;  // hashes and roots of the full ones
  std::map<int, std::string> growing;                           // of each level, the last tile
  for (const pqxx::row& row :
       connection.exec("SELECT encode(leaf_hash, 'hex') FROM writ.events ORDER BY position")) {
    const Digest leaf = to_digest(from_hex(row[0].c_str()));
    growing[0] += bytes_of(leaf);
    tree.append(leaf, [&](const TreeNode& node, const Digest& hash) {
      if (const auto tile = tile_completed_by(node)) {
        tiles[*tile] = {growing[tile->level], hex(hash)};
        growing[tile->level].clear();
        growing[tile->level + 1] += bytes_of(hash);
      }
    });
  }
  const auto head = connection.exec(
      "SELECT tree_size, encode(root, 'hex'), encode(frontier, 'hex') FROM"
      " writ.log_head")[0];
  if (head[0].as<std::int64_t>() != tree.size()) broken.emplace_back("the tree's size");
  if (head[1].c_str() != hex(tree.root())) broken.emplace_back("the tree's root");
  if (head[2].c_str() != hex(tree.bytes())) broken.emplace_back("the tree's frontier");
  for (const pqxx::row& row : connection.exec("SELECT level, index, encode(hashes, 'hex'),"
                                              " encode(root, 'hex') FROM writ.tiles")) {
    const TileId id{row[0].as<int>(), row[1].as<std::int64_t>()};
    const std::string name = "tile " + tile_path({false, id});
    const auto wanted = tiles.find(id);
    if (wanted == tiles.end()) {
      broken.push_back(name + " is not full");
      continue;
    }
    if (from_hex(row[2].c_str()) != wanted->second.first)
      broken.push_back(name + " has other hashes");
    if (row[3].c_str() != wanted->second.second) broken.push_back(name + " has another root");
    tiles.erase(wanted);
  }
  for (const auto& [id, content] : tiles)
    broken.push_back("tile " + tile_path({false, id}) + " is missing");
  return broken;
}

}  // namespace writ
