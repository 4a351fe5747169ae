#pragma once

#include <string>

#include "events/checkpoint.h"
#include "events/connection.h"
#include "events/tiles.h"

namespace writ {

/// Recomputes the tree's right edge from the tiles and the newest events. Answers what is wrong
/// with `head`, "" for nothing. Needs prepare_tile_queries.
std::string trouble_of_tree(Connection& connection, const TreeHead& head);

/// What an operator may do about trouble with a checkpoint; to be added to it.
inline constexpr char kWayOn[] = "; if that is meant, `writ accept-log` goes on from here";

/// Holds the log against a checkpoint that was signed of it. Answers why it is not a continuation
/// of that – a restored backup, a rewritten past, another log – or "" when it is one.
std::string trouble_with_checkpoint(Connection& connection, const TreeHead& head,
                                    const Checkpoint& last);

}  // namespace writ
