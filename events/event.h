#pragma once

#include <map>
#include <optional>
#include <string>

#include "events/sha256.h"
#include "events/types.h"

namespace writ {

/// What a decision wants appended. The sequencer gives it its version, position, time and hashes.
struct NewEvent {
  StreamName stream;
  std::string type;  ///< e.g. `settings.updated`; frozen once released.
  std::string
      payload;  ///< The full new state as JSON, UTF-8 without U+0000; these bytes are hashed.
  std::map<std::string, std::string> detail;  ///< Flat, at most 4 KiB in all, e.g. `reverted_to`.
};

/// The newest event of the log, and the log's name.
struct LogHead {
  Position position;
  Timestamp recorded_at;
  std::string log_id;  ///< Hex.
};

/// One event as the log keeps it.
struct RecordedEvent {
  Position position;
  StreamName stream;
  StreamVersion version;
  std::string type;
  Timestamp recorded_at;
  std::string actor;
  std::string reason;
  std::string request_id;
  std::string command_id;              ///< UUID, shared by all events of one command.
  std::optional<std::string> payload;  ///< Empty once erased.
  std::optional<std::string> payload_salt;
  std::string envelope;
  Digest leaf_hash;
};

}  // namespace writ
