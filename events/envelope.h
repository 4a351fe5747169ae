#pragma once

#include <map>
#include <string>
#include <string_view>

#include "events/sha256.h"
#include "events/types.h"

namespace writ {

/// What an envelope says of one event: everything but the payload, which it names by hash.
struct Envelope {
  std::string log;  ///< The log's id, lower-case hex.
  Position position;
  StreamName stream;
  StreamVersion version;
  std::string type;
  Timestamp time;
  std::string actor;
  std::string reason;
  std::string command;
  std::string request;
  std::map<std::string, std::string> detail;
  std::string payload_hash;  ///< Hex.
  std::string prev;          ///< Hex of the stream's previous leaf hash, "" for its first event.
};

/// The canonical leaf: one line of JSON in a fixed order without white space; only `"`, `\` and
/// U+0000–001F are escaped. Version 1 of this form is frozen (design/event-log.md, "Envelope").
std::string canonical_envelope(const Envelope& envelope);

/// SHA-256(salt ‖ payload).
Digest payload_hash(std::string_view salt, std::string_view payload);

/// SHA-256(0x00 ‖ envelope): the leaf hash of RFC 6962.
Digest leaf_hash(std::string_view envelope);

}  // namespace writ
