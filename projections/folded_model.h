#pragma once

#include <string>
#include <vector>

#include "events/domain.h"

namespace writ {

/// A read model with one row a stream, the fold of its events. Its table has the projection's name.
struct FoldedModel {
  InlineProjection projection;

  /// The statement that makes the rows, up to FROM: what the fold puts before the ends of the
  /// streams in its batch. All that a row may be made of is, by column: stream; first_position and
  /// first_recorded_at of its first event; position, version, type, recorded_at and payload of its
  /// last one.
  std::string rows_sql;

  std::string key_column;     ///< Text, collation "C": a stream's name without the prefix.
  std::string stream_prefix;  ///< The streams it is folded from.
  std::vector<std::string> known_types;  ///< That the fold understands; another one stops it.
};

/// The statement that folds what counts of whole streams up to a position – the first and the last
/// event of each – into a table that has no row of theirs. Parameters: $1 the stream to begin
/// after, $2 the first name beyond them, $3 how many streams at most, $4 the position. It takes
/// fewer where streams are long, so that its work is bounded by $3, but one at least. Answers one
/// row: the last stream, the number of their events, and whether nothing follows.
std::string fold_of_streams(const FoldedModel& model);

/// Settings for the transaction of that statement: without them the planner may sort the whole log
/// for it. What it is forbidden counts as dear enough to be compiled, which would cost more than it
/// takes.
inline constexpr char kPlanOfStreams[] =
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off;"
    " SET LOCAL work_mem = '16MB'";

/// The first text after all that begin with `prefix`, in the order of bytes.
std::string end_of_prefix(const std::string& prefix);

}  // namespace writ
