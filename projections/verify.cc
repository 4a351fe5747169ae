#include "projections/verify.h"

#include <algorithm>
#include <future>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "events/array_literal.h"
#include "events/connection.h"
#include "events/envelope_reader.h"
#include "events/erasure.h"
#include "events/event_chain.h"
#include "events/history.h"
#include "events/log_domain.h"
#include "events/tiles.h"
#include "projections/read_models.h"
#include "projections/row_check.h"

namespace writ {
namespace {

constexpr std::int64_t kEvents = 4'000;  // read at a time: 2 × 6 MB
constexpr std::int64_t kKeys = 2'000;    // compared at a time
constexpr std::int64_t kErasures = 500;  // of those beyond the head, read at a time

// The salt in hex: bytea comes like that anyway.
constexpr char kEventsSql[] =
    "SELECT position, stream, version, type, (extract(epoch FROM recorded_at) * 1000000)::bigint,"
    " actor, reason, request_id, command_id::text, payload, encode(payload_salt, 'hex'), envelope,"
    " encode(leaf_hash, 'hex') FROM events WHERE position > $1 AND position <= $2 ORDER BY "
    "position";

constexpr char kTilesSql[] =
    "SELECT w.ord, encode(sha256(t.hashes), 'hex'), encode(t.root, 'hex')"
    " FROM unnest($1::integer[], $2::bigint[]) WITH ORDINALITY w (level, index, ord)"
    " JOIN tiles t ON t.level = w.level AND t.index = w.index ORDER BY 1";

constexpr char kStreamsSql[] =
    "SELECT s.stream, e.version, encode(e.leaf_hash, 'hex') FROM unnest($1::text[]) s (stream)"
    " CROSS JOIN LATERAL (SELECT version, leaf_hash FROM events WHERE events.stream = s.stream"
    " AND position <= $2 ORDER BY position DESC LIMIT 1) e";

constexpr char kErasuresSql[] =
    "SELECT position, envelope FROM events WHERE stream = $1 AND type = $2 AND position > $3"
    " AND position <= $4 ORDER BY position LIMIT $5";

// One statement: the tree and its tiles of one moment, however the log grows meanwhile.
constexpr char kTileBeyondSql[] =
    "SELECT t.level, t.index, h.tree_size FROM log_head h JOIN tiles t"
    " ON t.index >= h.tree_size >> least(8 * (least(t.level, 7) + 1), 63)"
    " ORDER BY 1, 2 LIMIT 1";

std::string at(Position position) { return "position " + std::to_string(position.value) + ": "; }

/// The types that are known of a stream; null for one of which nothing is known.
const std::vector<std::string>* known_types(const std::vector<FoldedModel>& models,
                                            const std::string& stream) {
  for (const FoldedModel& model : models)
    if (stream.starts_with(model.stream_prefix)) return &model.known_types;
  return nullptr;
}

class Verification {
 public:
  Verification(const std::string& conninfo, const VerifyProgress& progress)
      : connection_(conninfo), fetching_(conninfo), progress_(progress), models_(read_models()) {
    prepare_tile_queries(connection_);
  }

  VerifyResult run(const std::optional<VerifiedBefore>& before) {
    const TreeHead head = read_tree_head(connection_);
    const LogHead log = read_head(connection_);
    EventChain chain = before ? chain_after(*before, head) : EventChain(head.log_id);
    chain_ = &chain;
    check_events(before ? before->position : Position{0}, head.size);
    check_end(head, log);
    VerifyResult result{head.log_id, head.size, head.root, 0};
    for (const FoldedModel& model : models_) result.rows += check_rows(model);
    return result;
  }

 private:
  EventChain chain_after(const VerifiedBefore& before, const TreeHead& head) {
    if (head.size < before.position)
      throw CorruptLog("the log has " + std::to_string(head.size.value) +
                       " events, fewer than the " + std::to_string(before.position.value) +
                       " of the checkpoint");
    TileReader tiles(connection_, before.position);
    std::string edge;
    for (const TreeNode& peak : peaks_of(before.position.value)) edge += bytes_of(tiles.node(peak));
    Frontier tree = frontier_at(before.position, edge);
    if (tree.root() != before.root)
      throw CorruptLog("the log's first " + std::to_string(before.position.value) +
                       " events have another root than the checkpoint: the past was rewritten");
    std::vector<std::string> partial;
    for (std::int64_t size = before.position.value; size > 0; size /= kTileWidth)
      partial.push_back(tiles.hashes({static_cast<int>(partial.size()), size / kTileWidth}));
    Timestamp time{};
    if (before.position.value > 0) time = read_event(connection_, before.position).recorded_at;
    return EventChain(head.log_id, std::move(tree), std::move(partial), time,
                      [this](const std::string& stream) { return take_known(stream); });
  }

  std::optional<StreamEnd> take_known(const std::string& stream) {
    const auto found = known_.find(stream);
    if (found == known_.end()) return std::nullopt;
    return found->second;
  }

  /// Looks up what the chain will ask for the first time.
  void find_streams(const pqxx::result& rows, Position before) {
    std::set<std::string> names;
    for (const pqxx::row& row : rows)
      if (const auto stream = row[1].as<std::string>(); !chain_->streams().contains(stream))
        names.insert(stream);
    ArrayLiteral wanted;
    for (const std::string& name : names) wanted.add(name);
    known_.clear();
    for (const pqxx::row& row : connection_.exec_params(
             kStreamsSql, {std::move(wanted).take(), std::to_string(before.value)})) {
      StreamEnd& end = known_[row[0].as<std::string>()];
      end.version.value = row[1].as<std::int64_t>();
      end.leaf = to_digest(from_hex(row[2].c_str()));
    }
  }

  std::future<pqxx::result> fetch(Position after, Position to) {
    return std::async(std::launch::async, [this, after, to] {
      return fetching_.exec_params(kEventsSql,
                                   {std::to_string(after.value), std::to_string(to.value)});
    });
  }

  void check_events(Position before, Position head) {
    const auto end_of = [&](Position after) {
      return Position{std::min(after.value + kEvents, head.value)};
    };
    std::future<pqxx::result> next = fetch(before, end_of(before));
    for (Position done = before; done < head;) {
      const Position end = end_of(done);
      const pqxx::result rows = next.get();
      if (end < head) next = fetch(end, end_of(end));
      if (before.value > 0) find_streams(rows, before);
      for (const pqxx::row& row : rows) check_event(row);
      if (chain_->position() != end)
        throw CorruptLog(at({chain_->position().value + 1}) +
                         "the event is missing, and those up to position " +
                         std::to_string(end.value));
      check_tiles();
      done = end;
      progress_("events", done.value - before.value, head.value - before.value);
    }
  }

  void check_event(const pqxx::row& row) {
    const auto text = [&](pqxx::row::size_type column) {
      return std::string_view(row[column].c_str(), row[column].size());
    };
    std::string salt;
    ChainedEvent event{text(11), std::nullopt, std::nullopt};
    if (!row[9].is_null()) event.payload = text(9);
    if (!row[10].is_null()) {
      salt = from_hex(text(10));
      event.salt = salt;
    }
    const Envelope& envelope = chain_->add(event);
    const auto same = [&](const char* column, bool is_same) {
      if (!is_same)
        throw CorruptLog(at(envelope.position) + "the column " + column +
                         " says something else than the envelope");
    };
    same("position", row[0].as<std::int64_t>() == envelope.position.value);
    same("stream", text(1) == envelope.stream.value);
    same("version", row[2].as<std::int64_t>() == envelope.version.value);
    same("type", text(3) == envelope.type);
    same("recorded_at", row[4].as<std::int64_t>() == envelope.time.time_since_epoch().count());
    same("actor", text(5) == envelope.actor);
    same("reason", text(6) == envelope.reason);
    same("request_id", text(7) == envelope.request);
    same("command_id", text(8) == envelope.command);
    same("leaf_hash", text(12) == hex(chain_->last_leaf()));
    if (const auto* types = known_types(models_, envelope.stream.value);
        types != nullptr && std::ranges::find(*types, envelope.type) == types->end())
      throw CorruptLog(at(envelope.position) + "the type \"" + envelope.type +
                       "\" is not known to this program; use a newer one");
  }

  void check_tiles() {
    const std::vector<GrownTile> grown = chain_->take_full_tiles();
    if (grown.empty()) return;
    ArrayLiteral levels, indexes;
    for (const GrownTile& tile : grown) {
      levels.add(static_cast<std::int64_t>(tile.id.level));
      indexes.add(tile.id.index);
    }
    const pqxx::result stored =
        connection_.exec_params(kTilesSql, {std::move(levels).take(), std::move(indexes).take()});
    std::size_t place = 0;
    for (const pqxx::row& row : stored) {
      const std::size_t ordinal = row[0].as<std::size_t>() - 1;
      if (ordinal != place) break;
      if (row[1].c_str() != hex(grown[place].hashes_digest) ||
          row[2].c_str() != hex(grown[place].root))
        throw CorruptLog("the tree's tile " + tile_path({false, grown[place].id}) +
                         " does not have the hashes of its events");
      ++place;
    }
    if (place < grown.size())
      throw CorruptLog("the tree's tile " + tile_path({false, grown[place].id}) + " is missing");
  }

  /// Those of the events without payload that an event beyond `head` says were erased: they were
  /// after the head was read, and before their chunk was.
  std::unordered_set<std::string> erased_since(Position head) {
    std::unordered_set<std::string> open, erased;
    for (const Position position : chain_->unexplained())
      open.insert(std::to_string(position.value));
    if (open.empty()) return erased;
    const std::string end = std::to_string(read_head(connection_).position.value);
    for (std::string after = std::to_string(head.value);;) {
      const pqxx::result rows = connection_.exec_params(
          kErasuresSql, {kLogStream, kLogErased, after, end, std::to_string(kErasures)});
      for (const pqxx::row& row : rows)
        if (const auto of = erased_position(envelope_of(row)); of && open.contains(*of))
          erased.insert(*of);
      if (rows.size() < kErasures) return erased;
      after = rows.back()[0].as<std::string>();
    }
  }

  static Envelope envelope_of(const pqxx::row& row) {
    try {
      return read_envelope({row[1].c_str(), row[1].size()});
    } catch (const std::invalid_argument& e) {
      throw CorruptLog(at({row[0].as<std::int64_t>()}) + "its envelope is " + e.what());
    }
  }

  void check_nothing_beyond() {
    const pqxx::result events = connection_.exec(
        "SELECT position FROM events WHERE position > (SELECT position FROM log_head)"
        " ORDER BY position LIMIT 1");
    if (!events.empty())
      throw CorruptLog(at({events[0][0].as<std::int64_t>()}) + "the event is beyond the head");
    const pqxx::result tiles = connection_.exec(kTileBeyondSql);
    if (!tiles.empty())
      throw CorruptLog("the tile with level " + tiles[0][0].as<std::string>() + " and index " +
                       tiles[0][1].as<std::string>() + " is beyond the tree of " +
                       tiles[0][2].as<std::string>() + " events");
  }

  void check_end(const TreeHead& head, const LogHead& log) {
    chain_->check_erasures(erased_since(head.size));
    if (chain_->root() != head.root)
      throw CorruptLog("the root in log_head is not that of the tree over all " +
                       std::to_string(head.size.value) + " events");
    if (frontier_at(head.size, head.frontier).root() != head.root)
      throw CorruptLog("the frontier in log_head is not that of its root");
    // The head may have moved between the two readings.
    if (log.position == head.size && head.size.value > 0 &&
        log.recorded_at != read_event(connection_, head.size).recorded_at)
      throw CorruptLog("the time in log_head is not that of the last event");
    check_nothing_beyond();
    for (const FoldedModel& model : models_)
      if (connection_
              .exec_params("SELECT p.position <> h.position FROM projections p, log_head h"
                           " WHERE name = $1",
                           {model.projection.name})
              .at(0)[0]
              .as<bool>())
        throw CorruptLog("the read model " + model.projection.name + " is not at the head");
  }

  std::int64_t check_rows(const FoldedModel& model) {
    RowCheck check(fetching_, model);
    const auto total =
        connection_
            .exec("SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'writ." +
                  model.projection.name + "'::regclass")[0][0]
            .as<std::int64_t>();
    std::int64_t rows = 0;
    for (std::string after;;) {
      const RowCheck::Chunk chunk = settled(check, after);
      if (chunk.difference)
        throw CorruptLog(model.projection.name + " row " + chunk.difference->key + ": " +
                         chunk.difference->what);
      rows += chunk.rows;
      after = chunk.last_key;
      progress_(model.projection.name, rows, chunk.end ? rows : std::max(total, rows));
      if (chunk.end) return rows;
    }
  }

  /// A difference counts when it is there a second time: a rebuild that changed the tables between
  /// a snapshot and its first look would be one that is none.
  static RowCheck::Chunk settled(RowCheck& check, const std::string& after) {
    RowCheck::Chunk chunk = check.check(after, kKeys);
    return chunk.difference ? check.check(after, kKeys) : chunk;
  }

  Connection connection_, fetching_;
  const VerifyProgress& progress_;
  const std::vector<FoldedModel> models_;
  EventChain* chain_ = nullptr;
  std::unordered_map<std::string, StreamEnd> known_;
};

}  // namespace

VerifyResult verify(const std::string& conninfo, const std::optional<VerifiedBefore>& before,
                    const VerifyProgress& progress) {
  return Verification(conninfo, progress).run(before);
}

}  // namespace writ
