#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "events/batch.h"
#include "events/checkpoint.h"
#include "events/clock_check.h"
#include "events/connection.h"
#include "events/domain.h"
#include "events/tiles.h"

namespace writ {

/// A transaction that was committed with at least one event.
struct CommittedBatch {
  std::size_t events = 0;
  std::chrono::nanoseconds commit_time{0};  ///< Of writing the events and the commit itself.
};

/// How a sequencer works; the defaults are the service's.
struct SequencerOptions {
  std::string conninfo;           ///< With its session settings.
  std::size_t batch_limit = 256;  ///< Commands a batch.
  std::size_t batch_bytes = 4 << 20;
  std::size_t queue_limit = 4096;  ///< Commands that may wait.
  std::size_t queue_bytes = 64 << 20;
  bool accept_clock = false;  ///< Record the database's clock although it seems to be wrong.
  /// How long an interrupted commit is looked for before its callers are told that nobody knows.
  std::chrono::milliseconds patience = std::chrono::seconds(20);
  std::function<void(const std::string&)> warn = [](const std::string&) {
  };  ///< One line for the operator.
  /// The last checkpoint that was signed of the log, from outside the database, which is held
  /// against it at the start and on every new connection.
  std::function<std::optional<Checkpoint>()> last_checkpoint = [] { return std::nullopt; };
  /// Told the newest position known to be committed and the tree's root there, when the log turns
  /// out not to continue it and when the sequencer stops: so that the next start knows as much.
  /// Empty when nobody keeps it.
  std::function<void(Position, const Digest&)> keep;
  /// Called after each commit, before its callers are answered; must be quick.
  std::function<void(const CommittedBatch&)> committed = [](const CommittedBatch&) {};
};

/// What a sequencer tells of itself.
struct SequencerStatus {
  std::string refuses;        ///< Why it has stopped writing; "" while it writes.
  Position head;              ///< The newest position that this process has seen committed.
  std::uint64_t batches = 0;  ///< Transactions committed with at least one event.
  std::uint64_t events = 0;   ///< Events in them.
  std::size_t queued = 0;     ///< Commands waiting now.
  std::chrono::microseconds clock_skew{0};  ///< Database's clock minus the host's, when last seen.
  /// For how long commands have been worked on without one that got through; 0 when there are none.
  std::chrono::steady_clock::duration struggling{0};
};

/// The one place in a process that appends: one batch at a time, on one connection, by a thread of
/// its own or, when nobody else is there, by the caller. Commands of many callers share a
/// transaction; each is decided alone and answered only once the transaction is durable.
class Sequencer {
 public:
  /// Connects, checks the log's head and starts the thread. Throws StorageUnavailable, or
  /// StartError, also for a log that may not be written: its tree is broken, or it is not a
  /// continuation of the last checkpoint.
  Sequencer(SequencerOptions options, std::vector<Domain> domains);
  ~Sequencer();
  Sequencer(const Sequencer&) = delete;
  Sequencer& operator=(const Sequencer&) = delete;

  /// Runs one command and waits for what became of it. Safe to call from any thread.
  ///
  /// Throws, always without effect of the command: Overloaded (the queue is full), DeadlineExceeded
  /// (it passed before the command's batch began), IdempotencyKeyReused, StorageUnavailable,
  /// StorageError, std::invalid_argument (a field is too long or not UTF-8 or has U+0000), and what
  /// the domain's `decide` throws. Throws OutcomeUnknown when the commit was interrupted and the
  /// database stayed away.
  Outcome submit(Command command);

  /// Answers what is queued and ends the thread. New commands get StorageUnavailable.
  void stop();

  /// Stops the writing for good, because of what somebody else found out: that the log does not
  /// continue the last checkpoint.
  void stop_writing(const std::string& why);

  SequencerStatus status() const;

 private:
  struct Waiting {
    std::uint64_t number;
    Command command;
    std::promise<Outcome> answer;
  };
  enum class Resolution { kCommitted, kNothing };

  void work();
  bool is_quiet() const;
  Outcome run_alone(Command command);
  void run(std::vector<Waiting>& batch);
  bool take_batch(std::vector<Waiting>& batch);
  void gather(std::unique_lock<std::mutex>& lock, std::size_t crowd) const;
  void process(std::vector<Waiting>& batch);
  bool attempt(std::vector<Waiting>& batch);
  void one_by_one(std::vector<Waiting>& batch);
  bool take_from_queue(std::uint64_t number);
  Resolution resolve(const Batch& batch);
  Resolution look_for(const Batch& batch);
  void ensure_connected();
  void check_head(Connection& connection);
  std::string trouble_of(Connection& connection, const TreeHead& head,
                         const std::optional<Checkpoint>& last) const;
  void check_clock(Timestamp database_clock);
  void refuse(const std::string& why);
  void keep_known() const;
  bool is_continued(const Batch& batch);
  std::string hash_at(Connection& connection, Position position) const;
  std::string way_on() const;
  void acknowledge(const Batch& batch, std::chrono::nanoseconds commit_time);
  void begin_work();

  const SequencerOptions options_;
  const std::vector<Domain> domains_;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Waiting> queue_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t next_number_ = 0;
  bool stopping_ = false;
  SequencerStatus status_;
  bool busy_ = false;  // a batch is being run, by the thread or by a lone caller
  // When the first batch was begun of those that nothing came of, up to the one at hand.
  std::optional<std::chrono::steady_clock::time_point> struggling_since_;
  struct LastBatch {
    std::size_t commands = 0;
    std::chrono::steady_clock::time_point ended;
    std::chrono::steady_clock::duration took{0};
  };
  LastBatch last_batch_;

  // Of whoever has set busy_.
  std::unique_ptr<Connection> connection_;
  std::string log_id_;
  // The newest position known to be committed: found on connecting, or acknowledged. It continues
  // the last checkpoint of when it was found.
  struct Known {
    Position position;
    std::string hash;            // of its leaf, in hex
    Digest root = empty_root();  // of the tree there
  };
  Known known_;
  bool started_ = false;      // what the constructor checks has been found good
  bool lost_ = false;         // the database, when last asked
  bool got_through_ = false;  // the batch at hand, or a part of it
  ClockCheck clock_;

  std::thread thread_;
};

}  // namespace writ
