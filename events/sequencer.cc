#include "events/sequencer.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "events/log_check.h"
#include "events/storable_text.h"

namespace writ {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxRequestIdBytes = 128;
constexpr std::size_t kMaxKeyBytes = 128;
constexpr steady_clock::duration kShortestStep = std::chrono::microseconds(20);
constexpr steady_clock::duration kLongestStep = std::chrono::microseconds(200);
constexpr char kNotBegun[] = "the deadline passed before the change was begun; it had no effect";
constexpr char kLockNotAvailable[] = "55P03";
constexpr char kReadOnly[] = "25006";

void check_text(const char* name, const std::string& text, std::size_t limit) {
  if (text.size() > limit)
    throw std::invalid_argument(std::string(name) + " must be at most " + std::to_string(limit) +
                                " bytes");
  if (!is_storable(text))
    throw std::invalid_argument(std::string(name) + " must be UTF-8 without U+0000");
}

void check_texts(const Command& command) {
  if (command.actor.empty()) throw std::invalid_argument("a command needs an actor");
  check_text("the actor", command.actor, kMaxActorBytes);
  check_text("the reason", command.reason, kMaxReasonBytes);
  check_text("the request id", command.request_id, kMaxRequestIdBytes);
  check_text("the idempotency key", command.idempotency_key, kMaxKeyBytes);
}

/// Time since the machine booted, suspensions included.
microseconds running_time() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return microseconds(now.tv_sec * 1'000'000 + now.tv_nsec / 1000);
}

Timestamp host_clock() {
  return std::chrono::floor<microseconds>(std::chrono::system_clock::now());
}

std::string seconds_text(microseconds span) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(span).count()) + " s";
}

template <typename Waiting>
void fail_all(std::vector<Waiting>& batch, const std::exception_ptr& why) {
  for (Waiting& waiting : batch) waiting.answer.set_exception(why);
  batch.clear();
}

}  // namespace

Sequencer::Sequencer(SequencerOptions options, std::vector<Domain> domains)
    : options_(std::move(options)), domains_(std::move(domains)) {
  try {
    ensure_connected();
  } catch (const StorageError& e) {
    throw StartError(std::string("the log cannot be opened: ") + e.what());
  }
  started_ = true;
  thread_ = std::thread([this] { work(); });
}

Sequencer::~Sequencer() { stop(); }

Outcome Sequencer::submit(Command command) {
  check_texts(command);
  const auto deadline = command.deadline;
  std::future<Outcome> answer;
  std::uint64_t number = 0;
  {
    std::unique_lock lock(mutex_);
    if (stopping_) throw StorageUnavailable("the service is shutting down");
    if (is_quiet()) {
      begin_work();
      lock.unlock();
      return run_alone(std::move(command));
    }
    if (queue_.size() >= options_.queue_limit ||
        queued_bytes_ + command.bytes > options_.queue_bytes)
      throw Overloaded("too many changes are waiting to be recorded; try again later");
    queued_bytes_ += command.bytes;
    number = ++next_number_;
    queue_.push_back({number, std::move(command), {}});
    answer = queue_.back().answer.get_future();
  }
  arrived_.notify_one();
  // A batch may hang on the database for longer than this caller can wait. What has not been begun
  // is taken back.
  if (deadline != steady_clock::time_point::max() &&
      answer.wait_until(deadline) == std::future_status::timeout && take_from_queue(number))
    throw DeadlineExceeded(kNotBegun);
  return answer.get();
}

/// Whether a command that comes now may be run by its caller: nobody is at work, and no crowd is
/// expected back.
bool Sequencer::is_quiet() const {
  if (busy_ || !queue_.empty()) return false;
  return last_batch_.commands < 2 || steady_clock::now() - last_batch_.ended > last_batch_.took;
}

/// Runs a lone command on its caller's thread, which saves waking another and being woken.
Outcome Sequencer::run_alone(Command command) {
  std::vector<Waiting> batch;
  batch.push_back({0, std::move(command), {}});
  std::future<Outcome> answer = batch.back().answer.get_future();
  run(batch);
  arrived_.notify_all();
  return answer.get();
}

/// Under the lock.
void Sequencer::begin_work() {
  busy_ = true;
  if (!struggling_since_) struggling_since_ = steady_clock::now();
}

/// Runs a batch; by whoever has set `busy_`, which ends with it.
void Sequencer::run(std::vector<Waiting>& batch) {
  std::erase_if(batch, [](Waiting& waiting) {
    if (waiting.command.deadline > steady_clock::now()) return false;
    waiting.answer.set_exception(std::make_exception_ptr(DeadlineExceeded(kNotBegun)));
    return true;
  });
  const std::size_t commands = batch.size();
  const auto begun = steady_clock::now();
  got_through_ = false;
  if (commands > 0) process(batch);
  const std::lock_guard lock(mutex_);
  const auto ended = steady_clock::now();
  if (got_through_ || queue_.empty()) struggling_since_.reset();
  if (commands > 0) last_batch_ = {commands, ended, ended - begun};
  busy_ = false;
}

/// False when the command is in a batch already.
bool Sequencer::take_from_queue(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto waiting = std::ranges::find(queue_, number, &Waiting::number);
  if (waiting == queue_.end()) return false;
  queued_bytes_ -= waiting->command.bytes;
  queue_.erase(waiting);
  return true;
}

void Sequencer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  if (thread_.joinable()) thread_.join();
  {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !busy_; });
  }
  keep_known();
}

SequencerStatus Sequencer::status() const {
  const std::lock_guard lock(mutex_);
  SequencerStatus status = status_;
  status.queued = queue_.size();
  if (struggling_since_) status.struggling = steady_clock::now() - *struggling_since_;
  return status;
}

void Sequencer::work() {
  for (std::vector<Waiting> batch; take_batch(batch); batch.clear()) run(batch);
}

/// Waits for commands and sets `busy_`. False once stopped and drained.
bool Sequencer::take_batch(std::vector<Waiting>& batch) {
  std::unique_lock lock(mutex_);
  // Those just answered, who may come again, and those who came meanwhile.
  const std::size_t crowd = last_batch_.commands + queue_.size();
  do {
    arrived_.wait(lock, [this] { return queue_.empty() ? stopping_ : !busy_; });
    if (queue_.empty()) return false;
    gather(lock, crowd);
    // While it gathered, what was queued may have been taken back, and a lone caller have begun.
  } while (busy_ || queue_.empty());
  begin_work();
  std::size_t bytes = 0;
  while (!queue_.empty() && batch.size() < options_.batch_limit) {
    bytes += queue_.front().command.bytes;
    if (!batch.empty() && bytes > options_.batch_bytes) break;
    queued_bytes_ -= queue_.front().command.bytes;
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return true;
}

/// Callers that were answered together come back at about the same time. Taking the first of them
/// alone would make all others wait for one more commit; so while a crowd arrives, a batch waits
/// until the queue stops growing, for at most a quarter of what the last batch took. A lone caller
/// never waits.
void Sequencer::gather(std::unique_lock<std::mutex>& lock, std::size_t crowd) const {
  const auto begun = steady_clock::now();
  if (crowd < 2 || begun - last_batch_.ended > last_batch_.took) return;
  const auto step = std::clamp(last_batch_.took / 16, kShortestStep, kLongestStep);
  // Half of them: while one half is in the database, the other half's answers and next requests are
  // dealt with.
  const std::size_t enough = std::min((crowd + 1) / 2, options_.batch_limit);
  std::size_t seen = 0;
  while (!stopping_ && queue_.size() > seen && queue_.size() < enough &&
         steady_clock::now() - begun < last_batch_.took / 4) {
    seen = queue_.size();
    lock.unlock();
    std::this_thread::sleep_for(step);
    lock.lock();
  }
}

/// Answers every command of the batch. A connection that was lost before COMMIT was sent, or whose
/// COMMIT is known to have done nothing, is worth one more try: a restarted database then costs
/// nobody an error.
void Sequencer::process(std::vector<Waiting>& batch) {
  constexpr int kTries = 2;
  for (int tried = 1;; ++tried) {
    try {
      if (attempt(batch)) return;
      if (tried == kTries)
        throw StorageUnavailable("the database was lost while recording; the change had no effect");
    } catch (const ConnectionLost& e) {
      connection_.reset();
      if (tried < kTries) continue;
      // Once for each outage, not for each command.
      if (!std::exchange(lost_, true)) options_.warn(std::string("cannot record: ") + e.what());
      return fail_all(batch,
                      std::make_exception_ptr(StorageUnavailable("the database is unavailable")));
    } catch (const StorageError& e) {
      options_.warn(std::string("a batch was refused by the database: ") + e.what());
      connection_.reset();
      if (e.sqlstate() == kLockNotAvailable)
        return fail_all(batch, std::make_exception_ptr(StorageUnavailable(
                                   "another process has held the log's head for too long")));
      if (e.sqlstate() == kReadOnly)
        return fail_all(batch, std::make_exception_ptr(StorageUnavailable(
                                   "the database may only be read; is it a standby?")));
      if (batch.size() > 1) return one_by_one(batch);
      return fail_all(batch, std::current_exception());
    } catch (const std::exception&) {
      connection_.reset();
      return fail_all(batch, std::current_exception());
    }
  }
}

/// One transaction over the whole batch. False: it certainly committed nothing and may be tried
/// again.
bool Sequencer::attempt(std::vector<Waiting>& waiting) {
  ensure_connected();
  std::vector<const Command*> commands;
  for (const Waiting& one : waiting) commands.push_back(&one.command);
  Batch batch(*connection_, domains_);
  std::vector<CommandResult> results =
      batch.run(commands, [this](Timestamp clock) { check_clock(clock); });
  if (!is_continued(batch)) {
    // It was put back under the connection. Connecting again finds that out and says how.
    connection_.reset();
    return false;
  }
  if (batch.command_ids().empty()) {
    connection_->exec("ROLLBACK");
  } else {
    const auto begun = steady_clock::now();
    try {
      batch.commit();
    } catch (const ConnectionLost&) {
      connection_.reset();
      if (resolve(batch) == Resolution::kNothing) return false;
    }
    acknowledge(batch, steady_clock::now() - begun);
  }
  got_through_ = true;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (auto* outcome = std::get_if<Outcome>(&results[i]))
      waiting[i].answer.set_value(std::move(*outcome));
    else
      waiting[i].answer.set_exception(std::get<std::exception_ptr>(results[i]));
  }
  return true;
}

void Sequencer::one_by_one(std::vector<Waiting>& batch) {
  for (Waiting& waiting : batch) {
    std::vector<Waiting> alone;
    alone.push_back(std::move(waiting));
    process(alone);
  }
  batch.clear();
}

void Sequencer::acknowledge(const Batch& batch, std::chrono::nanoseconds commit_time) {
  const auto events = static_cast<std::int64_t>(batch.command_ids().size());
  known_ = {{batch.head().position.value + events}, batch.last_leaf_hash(), batch.root()};
  options_.committed({batch.command_ids().size(), commit_time});
  const std::lock_guard lock(mutex_);
  status_.head = known_.position;
  ++status_.batches;
  status_.events += static_cast<std::uint64_t>(events);
}

/// Finds out what became of a COMMIT whose answer was lost. Throws OutcomeUnknown when the database
/// stays away.
Sequencer::Resolution Sequencer::resolve(const Batch& batch) {
  options_.warn("the database was lost during a commit; finding out what became of it");
  const auto deadline = steady_clock::now() + options_.patience;
  for (;;) {
    try {
      return look_for(batch);
    } catch (const StorageUnavailable&) {
    } catch (const StorageError&) {  // the lock is still held by the dying backend
    }
    if (steady_clock::now() >= deadline)
      throw OutcomeUnknown(
          "the database was lost while the change was being recorded; it is recorded whole or not "
          "at all. "
          "Retry with the same Idempotency-Key, or read before retrying");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

/// Taking the head's lock waits until the lost backend is gone; raising the epoch under it makes
/// sure.
Sequencer::Resolution Sequencer::look_for(const Batch& batch) {
  Connection connection(options_.conninfo);
  prepare_batch_statements(connection, domains_);
  const LogHead head = begin_and_lock_head(connection);
  if (head.log_id != log_id_) throw CorruptLog("another log is in the place of ours");
  connection.exec("UPDATE log_head SET epoch = epoch + 1");
  const std::int64_t first = batch.first_position().value;
  const auto count = static_cast<std::int64_t>(batch.command_ids().size());
  const pqxx::result rows = connection.exec_params(
      "SELECT command_id::text FROM events WHERE position BETWEEN $1 AND $2 ORDER BY position",
      {std::to_string(first), std::to_string(first + count - 1)});
  connection.exec("COMMIT");
  const bool ours = !rows.empty() && rows[0][0].c_str() == batch.command_ids().front();
  if (!ours) return Resolution::kNothing;
  for (std::size_t i = 0; i < batch.command_ids().size(); ++i)
    if (i >= rows.size() ||
        rows[static_cast<pqxx::result::size_type>(i)][0].c_str() != batch.command_ids()[i])
      throw CorruptLog("a batch is in the log in part");
  return Resolution::kCommitted;
}

void Sequencer::ensure_connected() {
  {
    const std::lock_guard lock(mutex_);
    if (!status_.refuses.empty()) throw WritingStopped(status_.refuses);
  }
  if (connection_ && connection_->usable()) return;
  connection_.reset();
  auto fresh = std::make_unique<Connection>(options_.conninfo);
  prepare_batch_statements(*fresh, domains_);
  prepare_tile_queries(*fresh);
  check_head(*fresh);
  connection_ = std::move(fresh);
  if (std::exchange(lost_, false)) options_.warn("the database is back");
}

/// Whether this is the log that it was: with another one, positions and versions would be given out
/// twice, and what was signed of it would be a lie.
void Sequencer::check_head(Connection& connection) {
  // Asked for first: what is signed meanwhile may be beyond the head that is read.
  const std::optional<Checkpoint> last = options_.last_checkpoint();
  begin_and_lock_head(connection);
  const TreeHead head = read_tree_head(connection);
  if (log_id_.empty()) log_id_ = head.log_id;
  const std::string trouble = trouble_of(connection, head, last);
  if (trouble.empty() && head.size > known_.position)
    known_ = {head.size, hash_at(connection, head.size), head.root};
  connection.exec("COMMIT");
  if (!trouble.empty()) refuse(trouble);
  const std::lock_guard lock(mutex_);
  status_.head = std::max(status_.head, head.size);
}

std::string Sequencer::hash_at(Connection& connection, Position position) const {
  const pqxx::result rows =
      connection.exec_params("SELECT encode(leaf_hash, 'hex') FROM events WHERE position = $1",
                             {std::to_string(position.value)});
  return rows.empty() ? "" : rows[0][0].c_str();
}

/// Whether the log that the batch has locked is the one that it was: a restore may leave the
/// connection alone. Nothing but a comparison, unless somebody else has written.
bool Sequencer::is_continued(const Batch& batch) {
  const LogHead& head = batch.head();
  if (head.log_id != log_id_ || head.position < known_.position) return false;
  const bool same = head.position == known_.position
                        ? batch.root_at_head() == known_.root
                        : hash_at(*connection_, known_.position) == known_.hash;
  if (!same) return false;
  const std::optional<Checkpoint> last = options_.last_checkpoint();
  if (!last || last->size <= known_.position) return true;
  return last->size <= head.position && root_at(*connection_, last->size) == last->root;
}

/// "" when the log is what this process and the last checkpoint know, and its tree is whole.
std::string Sequencer::trouble_of(Connection& connection, const TreeHead& head,
                                  const std::optional<Checkpoint>& last) const {
  if (head.log_id != log_id_) return "the database holds another log than before";
  const std::string known = std::to_string(known_.position.value);
  if (head.size < known_.position)
    return "the log ends at position " + std::to_string(head.size.value) + ", behind position " +
           known + " that was acknowledged: a restored backup or a lagging replica" + way_on();
  if (hash_at(connection, known_.position) != known_.hash)
    return "the log has another event at position " + known +
           " than the one acknowledged: a restored backup or a lagging replica" + way_on();
  if (std::string trouble = trouble_of_tree(connection, head); !trouble.empty()) return trouble;
  if (root_at(connection, known_.position) != known_.root)
    return "the log before position " + known + " is not the one acknowledged" + way_on();
  if (!last) return "";
  const std::string trouble = trouble_with_checkpoint(connection, head, *last);
  return trouble.empty() ? "" : trouble + kWayOn;
}

/// What an operator may do about a log that is not the one known.
std::string Sequencer::way_on() const {
  return options_.keep ? kWayOn : "; if that is meant, start the service again";
}

void Sequencer::refuse(const std::string& why) {
  if (!started_) throw StartError(why);
  keep_known();
  stop_writing(why);
  throw WritingStopped(why);
}

void Sequencer::stop_writing(const std::string& why) {
  const std::string line = "writing is stopped: " + why;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.refuses.empty()) return;
    status_.refuses = line;
  }
  options_.warn(line);
}

void Sequencer::keep_known() const {
  if (known_.position.value == 0 || !options_.keep) return;
  try {
    options_.keep(known_.position, known_.root);
  } catch (const std::exception& e) {
    options_.warn("what was acknowledged last cannot be kept: " + std::string(e.what()));
  }
}

void Sequencer::check_clock(Timestamp database_clock) {
  const ClockCheck::Finding found = clock_.check(database_clock, host_clock(), running_time());
  {
    const std::lock_guard lock(mutex_);
    status_.clock_skew = found.skew;
  }
  if (found.worth_a_line)
    options_.warn("the database's clock minus this host's is " + seconds_text(found.skew));
  if (found.too_far_ahead && !options_.accept_clock)
    throw StorageUnavailable(
        "the database's clock is " + seconds_text(*found.too_far_ahead) +
        " ahead; nothing is recorded until it is right, or the service is started with "
        "--accept-clock");
}

}  // namespace writ
