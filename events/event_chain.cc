#include "events/event_chain.h"

#include <stdexcept>

#include "events/envelope_reader.h"
#include "events/erasure.h"
#include "events/errors.h"
#include "events/log_domain.h"

namespace writ {
namespace {

[[noreturn]] void broken(Position position, const std::string& what) {
  throw CorruptLog("position " + std::to_string(position.value) + ": " + what);
}

}  // namespace

std::optional<std::string> erased_position(const Envelope& envelope) {
  if (envelope.type != kLogErased || envelope.stream.value != kLogStream) return std::nullopt;
  const auto of = envelope.detail.find(kErasedPosition);
  return of == envelope.detail.end() ? std::nullopt : std::optional(of->second);
}

EventChain::EventChain(std::string log_id, Frontier tree, std::vector<std::string> partial,
                       Timestamp time,
                       std::function<std::optional<StreamEnd>(const std::string&)> find_stream)
    : log_id_(std::move(log_id)),
      tree_(std::move(tree)),
      time_(time),
      find_stream_(std::move(find_stream)),
      growing_(std::move(partial)) {}

const Envelope& EventChain::add(const ChainedEvent& event, std::uint64_t place) {
  const Position expected{tree_.size() + 1};
  try {
    envelope_ = read_envelope(event.envelope);
  } catch (const std::invalid_argument& e) {
    broken(expected, std::string("its envelope is ") + e.what());
  }
  if (envelope_.position != expected)
    broken(expected, "the event with this position is missing; here is the one with position " +
                         std::to_string(envelope_.position.value));
  const auto [found, met] = streams_.try_emplace(envelope_.stream.value);
  StreamEnd& stream = found->second;
  if (met && find_stream_)
    if (auto known = find_stream_(envelope_.stream.value)) stream = std::move(*known);
  check(envelope_, event);
  if (envelope_.version.value != stream.version.value + 1)
    broken(expected, "the stream " + envelope_.stream.value + " goes on with version " +
                         std::to_string(envelope_.version.value) + " after version " +
                         std::to_string(stream.version.value));
  if (envelope_.prev != (stream.version.value == 0 ? "" : hex(stream.leaf)))
    broken(expected, "it does not follow on the event of its stream " + envelope_.stream.value +
                         " before it: another hash is named as \"prev\"");
  leaf_ = leaf_hash(event.envelope);
  time_ = envelope_.time;
  if (stream.version.value == 0) {
    stream.first = expected;
    stream.created_at = envelope_.time;
  }
  stream.version = envelope_.version;
  stream.leaf = leaf_;
  stream.updated_at = envelope_.time;
  stream.type = envelope_.type;
  stream.place = place;
  stream.erased = !event.payload;
  if (!event.payload) without_payload_.push_back(expected);
  if (auto of = erased_position(envelope_)) erased_.insert(std::move(*of));
  grow();
  return envelope_;
}

std::vector<Position> EventChain::unexplained() const {
  std::vector<Position> positions;
  for (const Position position : without_payload_)
    if (!erased_.contains(std::to_string(position.value))) positions.push_back(position);
  return positions;
}

void EventChain::check_erasures(const std::unordered_set<std::string>& erased_later) const {
  for (const Position position : unexplained())
    if (!erased_later.contains(std::to_string(position.value)))
      broken(position, "the payload is missing, and no event says that it was erased");
}

void EventChain::check(const Envelope& envelope, const ChainedEvent& event) const {
  const Position position = envelope.position;
  if (!log_id_.empty() && envelope.log != log_id_)
    broken(position, "the event is of another log, " + envelope.log);
  if (envelope.time < time_) broken(position, "it was recorded before the event before it");
  if (event.payload.has_value() != event.salt.has_value())
    broken(position, "a payload and its salt are there together or not at all");
  if (event.payload && hex(payload_hash(*event.salt, *event.payload)) != envelope.payload_hash)
    broken(position, "the payload is not the one that was recorded: its hash differs");
}

void EventChain::grow() {
  if (log_id_.empty()) log_id_ = envelope_.log;
  if (growing_.empty()) growing_.emplace_back();
  growing_[0] += bytes_of(leaf_);
  tree_.append(leaf_, [&](const TreeNode& node, const Digest& hash) {
    const auto tile = tile_completed_by(node);
    if (!tile) return;
    const auto level = static_cast<std::size_t>(tile->level);
    full_.push_back({*tile, sha256(growing_[level]), hash});
    growing_[level].clear();
    if (growing_.size() == level + 1) growing_.emplace_back();
    growing_[level + 1] += bytes_of(hash);
  });
}

}  // namespace writ
