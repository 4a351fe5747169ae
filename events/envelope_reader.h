#pragma once

#include <optional>
#include <string_view>

#include "events/envelope.h"

namespace writ {

/// Reads an envelope, the inverse of canonical_envelope: only the canonical bytes are accepted.
/// Throws std::invalid_argument, saying where another text departs from them.
Envelope read_envelope(std::string_view text);

/// Reads what format_timestamp writes; nothing for any other text.
std::optional<Timestamp> read_timestamp(std::string_view text);

}  // namespace writ
