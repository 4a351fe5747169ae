#include "projections/rebuild.h"

#include <algorithm>
#include <atomic>
#include <future>

#include "events/array_literal.h"
#include "events/history.h"
#include "projections/changed_paths.h"

namespace writ {
namespace {

constexpr std::size_t kChanges = 500;      // their contents are read into this process
constexpr std::int64_t kTypes = 100'000;   // events whose types are looked at in one go
constexpr std::int64_t kLittleLeft = 200;  // for the switch, while writers wait

// starts_with() is in no index: else the planner may walk that of all streams for a few positions.
constexpr char kUnknownType[] =
    "SELECT position, type FROM events WHERE position > $1 AND position <= $2"
    " AND type <> ALL ($4::text[]) AND starts_with(stream, $3) ORDER BY position LIMIT 1";

void refuse_unknown_types(Connection& connection, const FoldedModel& model, Position after,
                          Position to) {
  ArrayLiteral types;
  for (const std::string& type : model.known_types) types.add(type);
  const pqxx::result unknown =
      connection.exec_params(kUnknownType, {std::to_string(after.value), std::to_string(to.value),
                                            model.stream_prefix, std::move(types).take()});
  if (!unknown.empty())
    throw CorruptLog(std::string("the event at position ") + unknown[0][0].c_str() +
                     " has the type \"" + unknown[0][1].c_str() +
                     "\", which this program does not know; use a newer one");
}

/// Looks at the types of all events up to a position, on a thread and a connection of its own: the
/// fold reads few of them.
class TypeCheck {
 public:
  TypeCheck(const std::string& conninfo, const FoldedModel& model, Position to)
      : done_(std::async(std::launch::async, [this, conninfo, &model, to] {
          Connection connection(conninfo);
          for (std::int64_t after = 0; after < to.value && !stopping_; after += kTypes)
            refuse_unknown_types(connection, model, {after}, {std::min(after + kTypes, to.value)});
        })) {}
  ~TypeCheck() { stopping_ = true; }
  TypeCheck(const TypeCheck&) = delete;
  TypeCheck& operator=(const TypeCheck&) = delete;

  /// Waits for the end. Throws what it came upon.
  void finish() { done_.get(); }

 private:
  std::atomic<bool> stopping_ = false;
  std::future<void> done_;  // whose end is waited for
};

class Rebuild {
 public:
  Rebuild(const std::string& conninfo, const FoldedModel& model, const WorkProgress& progress,
          const RebuildPace& pace)
      : conninfo_(conninfo),
        build_(conninfo, model.projection.name, model.projection.version, true),
        model_(model),
        progress_(progress),
        pace_(pace),
        end_(end_of_prefix(model.stream_prefix)) {}

  RebuildResult run() {
    if (build_.state().first_pass) first_pass();
    // Rows are looked up by their key: what JSON is in them, which costs much to tell, helps
    // nobody.
    connection().exec("SET default_statistics_target = 10");
    build_.switch_over(
        pace_.patience, [this] { catch_up(); }, [this] { return stand_still(); });
    const pqxx::result rows = connection().exec("SELECT count(*) FROM writ." + build_.name());
    return {switched_at_.value, rows[0][0].as<std::int64_t>()};
  }

 private:
  Connection& connection() { return build_.connection(); }

  void first_pass() {
    TypeCheck types(conninfo_, model_, build_.state().first_head);
    connection().exec_params("SELECT writ.drop_build_indexes($1)", {build_.name()});
    while (build_.state().first_pass) fold_streams(types);
  }

  /// Whole streams, in the order of their names.
  void fold_streams(TypeCheck& types) {
    build_.step([&](TableBuild::State state) {
      connection().exec(kPlanOfStreams);
      const pqxx::row told = connection().exec_params(
          fold_of_streams(model_),
          {state.after_stream.empty() ? model_.stream_prefix : state.after_stream, end_,
           std::to_string(pace_.streams), std::to_string(state.first_head.value)})[0];
      if (!told[0].is_null()) state.after_stream = told[0].as<std::string>();
      state.events += told[1].as<std::int64_t>();
      if (told[2].as<bool>()) {
        types.finish();  // nobody looks at them again once the pass is recorded as through
        connection().exec_params("SELECT writ.add_build_indexes($1)", {build_.name()});
        state.first_pass = false;
        state.position = state.first_head;
      }
      return state;
    });
    const TableBuild::State& state = build_.state();
    progress_(
        state.first_pass ? std::min(state.events, state.first_head.value) : state.first_head.value,
        state.first_head.value);
  }

  void fold_events(Position after, Position to) {
    refuse_unknown_types(connection(), model_, after, to);
    connection().exec_params(fold_of_log(model_.projection, "$1", "$2"),
                             {std::to_string(after.value + 1), std::to_string(to.value)});
  }

  /// Follows the writes that went on meanwhile.
  void catch_up() {
    for (;;) {
      const Position head = read_head(connection()).position;
      const Position done = build_.state().position;
      if (head.value - done.value <= kLittleLeft) return;
      build_.step([&](TableBuild::State state) {
        const Position to{std::min(head.value, done.value + pace_.events)};
        fold_events(done, to);
        state.position = to;
        return state;
      });
      progress_(build_.state().position.value, head.value);
    }
  }

  /// With the head's lock nobody writes.
  Position stand_still() {
    const pqxx::result head = connection().exec("SELECT position FROM log_head FOR UPDATE");
    switched_at_ = {head.at(0)[0].as<std::int64_t>()};
    if (const Position done = build_.state().position; done < switched_at_)
      fold_events(done, switched_at_);
    return switched_at_;
  }

  const std::string conninfo_;
  TableBuild build_;
  const FoldedModel& model_;
  const WorkProgress& progress_;
  const RebuildPace pace_;
  const std::string end_;
  Position switched_at_;
};

}  // namespace

RebuildResult rebuild(const std::string& conninfo, const FoldedModel& model,
                      const WorkProgress& progress, const RebuildPace& pace) {
  return Rebuild(conninfo, model, progress, pace).run();
}

RebuildResult rebuild_changed_paths(const std::string& conninfo, const WorkProgress& progress,
                                    const RebuildPace& pace) {
  const std::size_t step = std::min<std::size_t>(static_cast<std::size_t>(pace.events), kChanges);
  TableBuild build(conninfo, "changed_paths", kChangedPathsVersion, false);
  Connection& connection = build.connection();
  const auto follow = [&](std::int64_t enough) {
    for (;;) {
      const Position head = read_head(connection).position;
      if (head.value - build.state().position.value <= enough) return;
      build.step([&](TableBuild::State state) {
        state.position = index_events(connection, state.position, head, step, KeepErased::kYes);
        return state;
      });
      progress(build.state().position.value, head.value);
    }
  };
  Position at;
  build.switch_over(
      pace.patience, [&] { follow(kLittleLeft); },
      [&] {
        // With the row's lock nobody indexes.
        const pqxx::result live = connection.exec(
            "SELECT position FROM projections WHERE name = 'changed_paths' FOR UPDATE");
        at = std::max(read_head(connection).position, Position{live.at(0)[0].as<std::int64_t>()});
        for (Position done = build.state().position; done < at;)
          done = index_events(connection, done, at, step, KeepErased::kYes);
        return at;
      });
  const pqxx::result rows = connection.exec("SELECT count(*) FROM writ.changed_paths");
  return {at.value, rows[0][0].as<std::int64_t>()};
}

}  // namespace writ
