#pragma once

#include <span>
#include <string>
#include <vector>

#include "events/connection.h"
#include "events/domain.h"
#include "events/merkle.h"

namespace writ {

/// One event as it is inserted; its command gives actor, reason and request id.
struct EventRow {
  Position position;
  StreamName stream;
  StreamVersion version;
  std::string type, payload, salt, envelope;
  Digest leaf_hash;
  const Command* command;
  std::string command_id;
};

/// One idempotency key to remember, with the positions of its command's events.
struct KeyRow {
  const Command* command;
  std::string command_id;
  Position first, last;
};

/// What one append writes.
struct Append {
  std::span<const EventRow> events;
  std::span<const KeyRow> keys;
  Timestamp recorded_at;
  Position head;   ///< The log's head afterwards.
  Frontier& tree;  ///< Of the log before; is moved past the events.
  bool notify;     ///< Whether listeners are told: at most once a transaction.
};

/// Prepares what append runs. Once a connection.
void prepare_append(Connection& connection, const std::vector<Domain>& domains);

/// Inserts events, folds them into the domains' inline projections, remembers idempotency keys,
/// moves the head and the tree and notifies: one statement, one round trip. One more only when a
/// tile fills, which one event in 256 does. Under the head's lock.
void append(Connection& connection, const std::vector<Domain>& domains, const Append& what);

/// The same and COMMIT: a round trip more, full tiles included, but for a single event without a
/// key, the lone write, none. After ConnectionLost nobody knows whether it is committed; after
/// StorageError it is not.
void append_and_commit(Connection& connection, const std::vector<Domain>& domains,
                       const Append& what);

}  // namespace writ
