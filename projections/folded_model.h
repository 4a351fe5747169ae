#pragma once

#include <string>
#include <vector>

#include "events/domain.h"

namespace writ {

/// A read model with one row a stream, the fold of its events. Its table has the projection's name.
struct FoldedModel {
  InlineProjection projection;
  std::string key_column;     ///< Text, collation "C": a stream's name without the prefix.
  std::string stream_prefix;  ///< The streams it is folded from.
  std::vector<std::string> known_types;  ///< That the fold understands; another one stops it.
};

/// The statement that folds what counts of whole streams up to a position – the first and the last
/// event of each – instead of all their events. Parameters: $1 the stream to begin after, $2 the
/// first name beyond them, $3 how many streams, $4 the position. Answers one row: the last stream,
/// the number of streams, the number of their events.
std::string fold_of_streams(const InlineProjection& projection);

/// The first text after all that begin with `prefix`, in the order of bytes.
std::string end_of_prefix(const std::string& prefix);

}  // namespace writ
