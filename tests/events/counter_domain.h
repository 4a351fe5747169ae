#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "events/domain.h"

namespace writ {

/// A small domain of the tests: named totals. Stream `counter/<name>`, payload `{"total":5}`, event
/// `counter.added`, and a table `counters` of its own.
///
/// A command's body is a vector of operations: all of them are accepted, or none.
struct Add {
  std::string name;
  std::int64_t amount = 0;
};
/// Only if the stream of `other` says at least `at_least`: looks up a stream that was not loaded.
struct AddIfOther {
  std::string name;
  std::int64_t amount = 0;
  std::string other;
  std::int64_t at_least = 0;
};
/// Only if the sum of all totals stays within `limit`: asks the table.
struct AddIfTotalBelow {
  std::string name;
  std::int64_t amount = 0;
  std::int64_t limit = 0;
};
/// Appends an event that the fold cannot read.
struct Poison {
  std::string name;
};
/// Appends an event of this type, with this text as its detail.
struct Named {
  std::string name;
  std::string type;
  std::string detail;
};
/// Throws std::runtime_error: a bug in the domain.
struct Fail {};
/// Throws already when its streams are asked for.
struct FailToLoad {};
/// Accepted without an event.
struct Nothing {};
using Operation =
    std::variant<Add, AddIfOther, AddIfTotalBelow, Poison, Named, Fail, FailToLoad, Nothing>;
using Operations = std::vector<Operation>;

/// Why a command was refused.
struct CounterRejected {
  std::size_t operation = 0;  ///< The first that does not hold.
};

inline constexpr char kCounterDomain[] = "counter";
inline constexpr char kCounterAdded[] = "counter.added";
/// The one query of AddIfTotalBelow.
inline constexpr char kSumOfTotals[] = "SELECT coalesce(sum(total), 0)::bigint FROM counters";
/// What a migration would do for the table.
inline constexpr char kCounterTables[] =
    "CREATE TABLE counters (name text COLLATE \"C\" PRIMARY KEY, total bigint NOT NULL, version "
    "bigint NOT NULL);"
    "GRANT SELECT, INSERT, UPDATE, DELETE ON counters TO writ_app;"
    "INSERT INTO projections (name, version, position) VALUES ('counters', 1, 0)";

Domain counter_domain();

StreamName counter_stream(const std::string& name);
std::int64_t total_of(const StreamState& state);

}  // namespace writ
