#pragma once

#include "events/domain.h"

namespace writ {

/// The content of one event was erased. Its detail says which, under kErasedPosition.
inline constexpr char kLogErased[] = "log.erased";            // frozen
inline constexpr char kErasedPosition[] = "erased_position";  // frozen

/// Erases the payload and the salt of the event at this position: the body of a command of the
/// erasure's domain. What was hashed stays, so every proof holds on.
struct Erasure {
  Position position;
};

/// Why an erasure is rejected.
enum class ErasureRefused {
  kNoEvent,  ///< There is none at the position.
  kOfLog,    ///< The event is about the log itself.
  kAlready,  ///< It was erased before.
  kNewest,   ///< It is what its record says now: to be superseded first.
};

/// The name under which the domain is registered.
inline constexpr char kErasureDomain[] = "erasure";

/// Erases and records that as an event of the log's stream, both or neither.
Domain erasure_domain();

}  // namespace writ
