#pragma once

#include <string>
#include <vector>

#include "events/connection.h"

namespace writ {

/// Grows the log's Merkle tree anew from every leaf hash and compares: what differs in `log_head`
/// and in `tiles`, empty when nothing does.
std::vector<std::string> broken_tree(Connection& connection);

}  // namespace writ
