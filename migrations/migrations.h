#pragma once

#include <string>
#include <vector>

namespace writ {

/// One numbered step of the schema.
struct Migration {
  std::string file;  ///< e.g. `0001_log.sql`
  std::string sql;
};

/// All steps in order: step N is element N-1.
const std::vector<Migration>& migrations();

/// The grants, applied after the steps by a role that may manage roles.
extern const char* const kRolesSql;

}  // namespace writ
