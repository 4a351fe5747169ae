#pragma once

#include <string>

namespace writ::client {

/// What the file holds, or standard input for `-`. Throws UsageError when it cannot be read, or
/// when it is larger than any that makes sense: a device would have no end. `what` it is for is
/// told then.
std::string read_input(const std::string& name, const std::string& what);

}  // namespace writ::client
