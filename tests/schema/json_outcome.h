#pragma once

#include <string>

#include "schema/protojson.h"

namespace writ {

/// What reading came to, for the message of a failed check; also when nothing is wrong, since such
/// messages are made whether or not they are shown.
inline std::string outcome(const JsonRead& read) {
  if (read.error) return read.error->message();
  return read.unknown_fields.empty() ? "read" : "unknown field " + read.unknown_fields.front();
}

}  // namespace writ
