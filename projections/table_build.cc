#include "projections/table_build.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace writ {
namespace {

using std::chrono::milliseconds;

// Readers queue behind whoever waits for the live table, so that is short at first; only a vacuum
// that is told to give way needs more than a second.
constexpr milliseconds kShortest{50};
constexpr milliseconds kLongest{1500};
constexpr milliseconds kPause{250};
constexpr std::chrono::seconds kKilled{5};
constexpr char kLockNotAvailable[] = "55P03";
constexpr char kDeadlock[] = "40P01";
constexpr char kNoData[] = "P0002";

}  // namespace

TableBuild::TableBuild(const std::string& conninfo, std::string name, int version, bool first_pass)
    : connection_(conninfo), name_(std::move(name)), version_(version) {
  // A backend whose client was killed gives up soon, whatever it is at: the next build waits for
  // it.
  connection_.exec(
      "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;"
      " SET client_connection_check_interval = '200ms'; SET search_path = writ_build, writ");
  lock();
  try {
    resumed_ = !connection_
                    .exec_params("SELECT writ.begin_build($1, $2, $3)",
                                 {name_, std::to_string(version_), first_pass ? "t" : "f"})[0][0]
                    .as<bool>();
  } catch (const StorageError& e) {
    if (e.sqlstate() == kNoData) throw CorruptLog(e.what());
    throw;
  }
  load_state();
}

void TableBuild::lock() {
  // The backend of one that was killed may still be at its last step.
  const auto deadline = std::chrono::steady_clock::now() + kKilled;
  while (!connection_
              .exec_params("SELECT pg_try_advisory_lock(hashtext('writ.builds'), hashtext($1))",
                           {name_})[0][0]
              .as<bool>()) {
    if (std::chrono::steady_clock::now() >= deadline)
      throw StorageUnavailable(name_ + " is being rebuilt by somebody else");
    std::this_thread::sleep_for(kPause);
  }
}

void TableBuild::load_state() {
  const pqxx::row row = connection_.exec_params(
      "SELECT first_head, after_stream, events, position FROM writ.builds WHERE projection = $1",
      {name_})[0];
  state_ = {{row[0].as<std::int64_t>()},
            !row[1].is_null(),
            row[1].is_null() ? "" : row[1].as<std::string>(),
            row[2].as<std::int64_t>(),
            {row[3].as<std::int64_t>()}};
}

void TableBuild::save_state() {
  connection_.exec_params(
      "UPDATE writ.builds SET after_stream = CASE WHEN $2::boolean THEN $3 END,"
      " events = $4::bigint, position = $5::bigint WHERE projection = $1",
      {name_, state_.first_pass ? "t" : "f", state_.after_stream, std::to_string(state_.events),
       std::to_string(state_.position.value)});
}

void TableBuild::step(const std::function<State(State)>& work) {
  // What a crash takes back is built again; so nobody's commit waits for this one's. The lock makes
  // sure that the name means the table that is built: it fails when that is gone.
  connection_.exec("BEGIN; SET LOCAL synchronous_commit = off; LOCK TABLE writ_build.\"" + name_ +
                   "\" IN ROW EXCLUSIVE MODE");
  state_ = work(state_);
  save_state();
  connection_.exec("COMMIT");
}

bool TableBuild::try_switch(milliseconds lock_time, const std::function<Position()>& still) {
  const State before = state_;
  connection_.exec("BEGIN; LOCK TABLE writ_build.\"" + name_ + "\" IN ROW EXCLUSIVE MODE");
  try {
    const Position position = still();
    connection_.exec_params(
        "UPDATE writ.projections SET version = $1, position = $2 WHERE name = $3",
        {std::to_string(version_), std::to_string(position.value), name_});
    connection_.exec("SET LOCAL lock_timeout = " + std::to_string(lock_time.count()));
    connection_.exec_params("SELECT writ.finish_build($1)", {name_});
    connection_.exec("COMMIT");
    return true;
  } catch (const StorageError& e) {
    connection_.exec("ROLLBACK");
    state_ = before;
    if (e.sqlstate() == kLockNotAvailable || e.sqlstate() == kDeadlock) return false;
    throw;
  }
}

void TableBuild::switch_over(std::chrono::seconds patience, const std::function<void()>& catch_up,
                             const std::function<Position()>& still) {
  connection_.exec_params("SELECT writ.analyze_build($1)", {name_});
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (milliseconds lock_time = kShortest;; lock_time = std::min(lock_time * 2, kLongest)) {
    catch_up();
    if (try_switch(lock_time, still)) return;
    if (std::chrono::steady_clock::now() >= deadline)
      throw StorageUnavailable("the table " + name_ +
                               " is in use without a pause, by a backup perhaps; what was built is "
                               "kept, so that another rebuild is quick");
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace writ
