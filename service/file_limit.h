#pragma once

#include <cstddef>

namespace writ {

/// Raises the process's limit of open files to its hard limit and says how many connections fit
/// when `reserved` files are kept for everything else: `wanted`, or fewer.
std::size_t fit_connections(std::size_t wanted, std::size_t reserved);

}  // namespace writ
