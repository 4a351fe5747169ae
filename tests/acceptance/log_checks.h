#pragma once

#include <string>
#include <vector>

#include "tests/acceptance/json.h"

namespace writ::test {

/// One row of a result as text, NULL as "NULL".
using Row = std::vector<std::string>;

/// Runs one statement with text parameters on a connection of its own; `conninfo` without session
/// settings is enough.
std::vector<Row> query(const std::string& conninfo, const std::string& sql,
                       const std::vector<std::string>& parameters = {});
/// The one value of a statement that has one.
std::string query_one(const std::string& conninfo, const std::string& sql,
                      const std::vector<std::string>& parameters = {});

/// The invariants of events/README.md, written once more in SQL: what is broken, empty when nothing
/// is. Positions and versions without a hole, the head, times, envelopes with their hashes, and the
/// settings rows as the fold of the log.
std::vector<std::string> broken_invariants(const std::string& conninfo);

/// The rows of `settings` as a JSON array of key, data and version, in order of creation.
Json settings_rows(const std::string& conninfo);

}  // namespace writ::test
