#include "events/log_check.h"

namespace writ {

std::string trouble_of_tree(Connection& connection, const TreeHead& head) {
  try {
    const Frontier stored = frontier_at(head.size, head.frontier);
    TileReader tiles(connection, head.size);
    const auto edge = tiles.compute<std::string>([&](const NodeReader& read) {
      std::string hashes;
      for (const TreeNode& peak : peaks_of(head.size.value)) hashes += bytes_of(read(peak));
      return hashes;
    });
    if (edge != head.frontier) return "the Merkle tree's edge is not that of its tiles and events";
    if (stored.root() != head.root) return "the Merkle tree's root is not that of its edge";
    return "";
  } catch (const CorruptLog& e) {
    return e.what();
  }
}

std::string trouble_with_checkpoint(Connection& connection, const TreeHead& head,
                                    const Checkpoint& last) {
  const std::string signed_at = std::to_string(last.size.value);
  if (head.log_id != last.log_id())
    return "the last checkpoint was signed of the log " + last.log_id() + ", and this is the log " +
           head.log_id;
  if (head.size < last.size)
    return "the log ends at position " + std::to_string(head.size.value) +
           ", behind the checkpoint that was signed at position " + signed_at +
           ": a restored backup or a lagging replica";
  try {
    if (root_at(connection, last.size) == last.root) return "";
  } catch (const CorruptLog& e) {
    return e.what();
  }
  return "the log up to position " + signed_at +
         " is not the one of the checkpoint that was signed there: it was rewritten";
}

}  // namespace writ
