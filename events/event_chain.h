#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "events/envelope.h"
#include "events/merkle.h"
#include "events/tile.h"

namespace writ {

/// An event as somebody keeps it: what its hashes are of.
struct ChainedEvent {
  std::string_view envelope;
  std::optional<std::string_view> payload;  ///< Nothing once erased.
  std::optional<std::string_view> salt;
};

/// What is known of a stream once some of its events were checked.
struct StreamEnd {
  StreamVersion version;
  Digest leaf{};
  Position first;        ///< Of its first event, when that was checked.
  Timestamp created_at;  ///< Of the same.
  Timestamp updated_at;
  std::string type;         ///< Of the newest.
  std::uint64_t place = 0;  ///< As the caller told with the newest event.
  bool erased = false;      ///< The newest.
};

/// A tile that is full, as its events make it.
struct GrownTile {
  TileId id;
  Digest hashes_digest{};  ///< SHA-256 of its hashes.
  Digest root{};
};

/// The position whose content the event says was erased, as it writes it; nothing for another
/// event.
std::optional<std::string> erased_position(const Envelope& envelope);

/// Recomputes a log from its events in their order: every hash, each stream's chain, the Merkle
/// tree and its tiles. Needs memory for each stream, no more. Pure; whoever reads a database or a
/// file feeds it. What does not hold is thrown as CorruptLog, naming the first position.
class EventChain {
 public:
  /// From the first event on. `log_id` is hex; "" takes the first event's word for it.
  explicit EventChain(std::string log_id) : log_id_(std::move(log_id)) {}

  /// From the event after `tree` on. `partial` are the hashes, level by level, of the last tile
  /// that is not full. What is known of a stream is asked of `find_stream` when it is first met;
  /// nothing is a stream that begins.
  EventChain(std::string log_id, Frontier tree, std::vector<std::string> partial, Timestamp time,
             std::function<std::optional<StreamEnd>(const std::string&)> find_stream);

  /// Checks the next event. `place` is kept with its stream.
  const Envelope& add(const ChainedEvent& event, std::uint64_t place = 0);

  /// The positions whose payload is missing while none of the events says that it was erased. What
  /// only the whole log tells.
  std::vector<Position> unexplained() const;

  /// Checks that there are none, but those of `erased_later`: written as erased_position() answers
  /// of events that are not a part of this chain. Throws as `add` does.
  void check_erasures(const std::unordered_set<std::string>& erased_later = {}) const;

  Position position() const { return {tree_.size()}; }
  Digest root() const { return tree_.root(); }
  const Digest& last_leaf() const { return leaf_; }
  const std::string& log_id() const { return log_id_; }
  const std::unordered_map<std::string, StreamEnd>& streams() const { return streams_; }

  /// The tiles that have become full since this was asked last.
  std::vector<GrownTile> take_full_tiles() { return std::exchange(full_, {}); }

 private:
  void check(const Envelope& envelope, const ChainedEvent& event) const;
  void grow();

  std::string log_id_;
  Frontier tree_;
  Timestamp time_{};
  std::function<std::optional<StreamEnd>(const std::string&)> find_stream_;
  std::unordered_map<std::string, StreamEnd> streams_;
  std::vector<std::string> growing_;  // of each level, the hashes of the last tile
  std::vector<GrownTile> full_;
  Envelope envelope_;
  Digest leaf_{};
  std::vector<Position> without_payload_;
  std::unordered_set<std::string> erased_;  // positions, as events say them
};

}  // namespace writ
