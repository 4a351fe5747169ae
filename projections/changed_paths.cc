#include "projections/changed_paths.h"

#include <algorithm>
#include <map>
#include <set>

#include "events/array_literal.h"
#include "events/history.h"
#include "projections/settings.h"
#include "schema/leaf_diff.h"
#include "schema/protojson.h"

namespace writ {
namespace {

constexpr std::size_t kChunk = 500;
constexpr std::chrono::seconds kLookAnyway{2};  // another process may have done the work
constexpr std::chrono::milliseconds kLookAgain{50};
constexpr std::chrono::milliseconds kTryAgain{500};  // after the connection failed
constexpr std::chrono::milliseconds kBreath{200};    // between rounds that nobody waits for
constexpr std::chrono::seconds kPatience{5};         // of those who wait for the index

/// Leaves and entries that an event changed, as the index has them.
std::set<std::string> paths_of(const EventInHistory& one) {
  std::set<std::string> paths;
  for (const audit::v1::LeafChange& change : leaf_changes(one)) {
    paths.insert(change.path());
    if (const auto leaf = leaf_of_path(change.path()); leaf != change.path())
      paths.insert(any_entry(leaf));
  }
  return paths;
}

/// The event was erased, or the one before it of its stream.
bool knows_not_what_changed(const EventInHistory& one) {
  return !one.event.payload || (one.previous.value > 0 && !one.previous_payload);
}

}  // namespace

flyteidl2::settings::Settings settings_of(const std::string& payload, Position position) {
  flyteidl2::settings::Settings settings;
  if (const auto read = read_json(payload, &settings, JsonMode::kStored); read.error)
    throw CorruptLog("the payload at position " + std::to_string(position.value) +
                     " cannot be read: " + read.error->message());
  return settings;
}

std::vector<audit::v1::LeafChange> leaf_changes(const EventInHistory& one) {
  const auto settings = [](const std::optional<std::string>& payload, Position position) {
    return payload ? settings_of(*payload, position) : flyteidl2::settings::Settings();
  };
  return diff_settings(settings(one.previous_payload, one.previous),
                       settings(one.event.payload, one.event.position));
}

Position index_events(Connection& connection, Position after, Position head, std::size_t limit,
                      KeepErased keep) {
  HistoryQuery query;
  query.from = {after.value + 1};
  query.to = {std::min(head.value, after.value + static_cast<std::int64_t>(limit))};
  query.order = Order::kOldestFirst;
  query.limit = limit;
  Position done = after;
  ArrayLiteral paths, positions, streams, erased_positions, erased_streams;
  for (const EventInHistory& one : read_history(connection, query)) {
    done = one.event.position;
    if (!one.event.stream.value.starts_with(kSettingsStreamPrefix)) continue;
    if (one.event.type != kSettingsCreated && one.event.type != kSettingsUpdated)
      throw CorruptLog("the event at position " + std::to_string(done.value) + " has the type \"" +
                       one.event.type + "\", which this program does not know; use a newer one");
    if (keep == KeepErased::kYes && knows_not_what_changed(one)) {
      erased_positions.add(done.value);
      erased_streams.add(one.event.stream.value);
      continue;
    }
    for (const std::string& path : paths_of(one)) {
      paths.add(path);
      positions.add(done.value);
      streams.add(one.event.stream.value);
    }
  }
  connection.exec_params(
      "INSERT INTO changed_paths (path, position, stream)"
      " SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])",
      {std::move(paths).take(), std::move(positions).take(), std::move(streams).take()});
  if (keep == KeepErased::kYes)
    connection.exec_params(
        "INSERT INTO changed_paths (path, position, stream) SELECT path, position, stream"
        " FROM unnest($1::text[], $2::bigint[]) erased (stream, position)"
        " JOIN writ.changed_paths USING (stream, position)",
        {std::move(erased_streams).take(), std::move(erased_positions).take()});
  return done;
}

Position index_changed_paths(Connection& connection, std::size_t limit) {
  // What a crash takes back is indexed again; so nobody's commit waits for this one's.
  connection.exec("BEGIN; SET LOCAL synchronous_commit = off");
  const pqxx::result own = connection.exec(
      "SELECT position FROM projections WHERE name = 'changed_paths' FOR UPDATE SKIP LOCKED");
  if (own.empty()) {
    const pqxx::result other =
        connection.exec("SELECT position FROM projections WHERE name = 'changed_paths'");
    connection.exec("COMMIT");
    if (other.empty()) throw CorruptLog("there is no projection named changed_paths");
    return {other[0][0].as<std::int64_t>()};
  }
  const Position before{own[0][0].as<std::int64_t>()};
  const Position done =
      index_events(connection, before, read_head(connection).position, limit, KeepErased::kNo);
  connection.exec_params("UPDATE projections SET position = $1 WHERE name = 'changed_paths'",
                         {std::to_string(done.value)});
  connection.exec("COMMIT");
  return done;
}

ChangedPaths::ChangedPaths(std::string conninfo, const LogFollower& follower,
                           std::function<void(const std::string&)> warn)
    : conninfo_(std::move(conninfo)),
      follower_(follower),
      warn_(std::move(warn)),
      thread_([this] { work(); }) {}

ChangedPaths::~ChangedPaths() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    moved_.notify_all();
  }
  thread_.join();
}

bool ChangedPaths::stopping() const {
  const std::scoped_lock lock(mutex_);
  return stopping_ || follower_.stopped();
}

Position ChangedPaths::indexed() const {
  const std::scoped_lock lock(mutex_);
  return indexed_;
}

void ChangedPaths::set_indexed(Position position) {
  const std::scoped_lock lock(mutex_);
  indexed_ = position;
  moved_.notify_all();
}

void ChangedPaths::wait_for(Position position, Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  if (indexed_ < position) {
    wanted_ = std::max(wanted_, position);
    moved_.notify_all();
  }
  moved_.wait_until(lock, std::min(deadline, Clock::now() + kPatience),
                    [&] { return indexed_ >= position || stopping_ || !stopped_why_.empty(); });
  if (indexed_ >= position) return;
  if (!stopped_why_.empty()) throw CorruptLog(stopped_why_);
  throw ReadModelBehind("the index of changed settings is at position " +
                        std::to_string(indexed_.value) + " of " + std::to_string(position.value) +
                        "; try again");
}

void ChangedPaths::work() {
  while (!stopping()) {
    try {
      Connection connection(conninfo_);
      while (!stopping()) {
        const Position before = indexed();
        const Position done = index_changed_paths(connection, kChunk);
        set_indexed(done);
        follower_.wait_beyond(done, Clock::now() + kLookAnyway);
        if (done == before) {
          wait(kLookAgain);  // another process may be at it
        } else if (done.value - before.value < static_cast<std::int64_t>(kChunk)) {
          wait_for_demand(kBreath);  // so that many changes cost one transaction
        }
      }
    } catch (const CorruptLog& e) {
      warn_(std::string("the index of changed settings stopped: ") + e.what());
      const std::scoped_lock lock(mutex_);
      stopped_why_ = e.what();
      moved_.notify_all();
      return;
    } catch (const std::exception&) {
      wait(kTryAgain);
    }
  }
}

void ChangedPaths::wait(std::chrono::milliseconds time) const {
  std::unique_lock lock(mutex_);
  moved_.wait_for(lock, time, [&] { return stopping_; });
}

void ChangedPaths::wait_for_demand(std::chrono::milliseconds time) const {
  std::unique_lock lock(mutex_);
  moved_.wait_for(lock, time, [&] { return stopping_ || wanted_ > indexed_; });
}

std::vector<std::optional<Position>> last_positions(Connection& connection,
                                                    const std::vector<StreamPath>& wanted,
                                                    const std::vector<Position>& at) {
  std::vector<std::optional<Position>> found(wanted.size());
  ArrayLiteral streams, paths, positions;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    streams.add(wanted[i].stream);
    paths.add(wanted[i].path);
    positions.add(at[i].value);
  }
  for (const pqxx::row& row : connection.exec_params(
           "SELECT w.ord, c.position FROM unnest($1::text[], $2::text[], $3::bigint[])"
           " WITH ORDINALITY AS w (stream, path, at, ord)"
           " CROSS JOIN LATERAL (SELECT position FROM changed_paths"
           " WHERE changed_paths.stream = w.stream AND changed_paths.path = w.path"
           " AND position <= w.at ORDER BY position DESC LIMIT 1) c",
           {std::move(streams).take(), std::move(paths).take(), std::move(positions).take()}))
    found[row[0].as<std::size_t>() - 1] = Position{row[1].as<std::int64_t>()};
  return found;
}

std::vector<std::optional<RecordedEvent>> last_changes(Connection& connection,
                                                       const std::vector<StreamPath>& wanted,
                                                       Position position) {
  std::vector<std::optional<RecordedEvent>> events(wanted.size());
  std::map<std::int64_t, std::vector<std::size_t>> places;
  ArrayLiteral positions;
  const auto found =
      last_positions(connection, wanted, std::vector<Position>(wanted.size(), position));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) continue;
    if (places[found[i]->value].empty()) positions.add(found[i]->value);
    places[found[i]->value].push_back(i);
  }
  for (RecordedEvent& event : read_events(connection, std::move(positions).take()))
    for (const std::size_t place : places[event.position.value]) events[place] = event;
  return events;
}

}  // namespace writ
