#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "events/connection.h"
#include "projections/folded_model.h"

namespace writ {

/// A row that is not what the log says.
struct RowDifference {
  std::string key;
  /// The first place that differs: a setting's path, else a column; or that one of both rows is
  /// missing.
  std::string what;
};

/// Compares the rows of a read model with a fresh fold of the log, as text, some keys at a time.
/// Each comparison is one short transaction with one snapshot; no lock that anybody waits for is
/// taken. The fold is that of the write path, into a temporary table.
class RowCheck {
 public:
  /// `connection` is used for nothing else: on it, the table's name means the temporary one.
  RowCheck(Connection& connection, FoldedModel model);

  struct Chunk {
    std::string last_key;                     ///< Where to go on.
    bool end = false;                         ///< Nothing follows.
    std::int64_t rows = 0;                    ///< Rows that the table has in it.
    std::optional<RowDifference> difference;  ///< The first one.
  };
  /// Compares all keys after `after` up to a record of the log there, the `limit`th at most.
  Chunk check(const std::string& after, std::int64_t limit);

 private:
  Connection& connection_;
  const FoldedModel model_;
  const std::string end_;
  const std::string compare_;
};

/// A difference between the two rows as JSON texts; empty for one that is missing.
std::string difference_of_rows(const std::optional<std::string>& live,
                               const std::optional<std::string>& wanted);

}  // namespace writ
