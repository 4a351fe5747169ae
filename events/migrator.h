#pragma once

#include <functional>
#include <string>

namespace writ {

/// This program's number: it refuses a database whose `schema_info.min_program` is greater.
inline constexpr int kProgramNumber = 2;

/// What `migrate` found and did.
struct MigrationResult {
  int from = 0;  ///< Schema version before; 0 is an empty database.
  int to = 0;    ///< Schema version now.
};

/// Brings the database's schema up to date, under an advisory lock, each step in a transaction of
/// its own; then applies the roles when the connecting role may manage them and `manage_roles` is
/// set. Throws StartError with one line for the operator: not UTF-8, older than PostgreSQL 15, a
/// schema that asks for a newer program, rights that are missing. Throws ConnectionLost when the
/// database cannot be reached.
MigrationResult migrate(const std::string& conninfo, bool manage_roles,
                        const std::function<void(const std::string&)>& progress);

/// True when the connecting role owns no right to change the log, so that append-only does not rest
/// on triggers alone.
bool log_is_protected(const std::string& conninfo);

}  // namespace writ
