#pragma once

#include <exception>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "events/append.h"
#include "events/connection.h"
#include "events/domain.h"
#include "events/merkle.h"

namespace writ {

/// Prepares on `connection` what begin_and_lock_head and a Batch run. Once a connection.
void prepare_batch_statements(Connection& connection, const std::vector<Domain>& domains);

/// Begins a transaction and locks the head: the fence between all processes, held to its end.
LogHead begin_and_lock_head(Connection& connection);

/// Answers a command: what became of it, or why it failed without effect.
using CommandResult = std::variant<Outcome, std::exception_ptr>;

/// One batch of commands in one transaction: lock · load · decide and write · (commit by the
/// caller). At most four round trips, unless a decision looks up more than it loaded.
class Batch final : public Reader {
 public:
  Batch(Connection& connection, const std::vector<Domain>& domains);

  /// Begins the transaction, loads and decides all commands; nothing is committed. `refuse_clock`
  /// is asked with the database's clock and throws when it must not be recorded. Throws
  /// ConnectionLost or StorageError.
  std::vector<CommandResult> run(const std::vector<const Command*>& commands,
                                 const std::function<void(Timestamp)>& refuse_clock);

  /// Writes what the commands appended and commits, when they appended anything. After
  /// ConnectionLost the outcome is unknown; after StorageError nothing is committed.
  void commit();

  /// The head that it found and locked, and the tree's root there.
  const LogHead& head() const { return head_; }
  const Digest& root_at_head() const { return root_at_head_; }
  /// What the transaction appended: command ids at consecutive positions from `first_position`.
  Position first_position() const { return {head_.position.value + 1}; }
  const std::vector<std::string>& command_ids() const { return command_ids_; }
  /// Hex of the leaf hash of the last event appended; "" when none was.
  const std::string& last_leaf_hash() const { return last_leaf_hash_; }
  /// The root of the tree, once committed.
  Digest root() const { return tree_.root(); }

  std::optional<StreamState> latest(const StreamName& stream) override;
  LookupRows query(const std::string& sql, const std::vector<std::string>& args) override;
  void stage(std::vector<NewEvent> events) override;

 private:
  /// What is known of a stream, and whether that holds the payload.
  struct Known {
    std::optional<StreamState> state;
    bool with_payload = false;
  };
  struct Remembered {
    std::string fingerprint;           // hex
    std::optional<Accepted> accepted;  // empty: the events are in the log, at these positions
    std::string command_id;
    Position first, last;
    Timestamp created_at;
  };
  using Key = std::pair<std::string, std::string>;

  std::vector<StreamName> streams_of(const Command& command);
  void begin_lock_and_load(const std::vector<const Command*>& commands,
                           const std::function<void(Timestamp)>& refuse_clock);
  void load_one(const std::string& stream, const std::function<void(Timestamp)>& refuse_clock);
  void start_at(LogHead head, const std::string& frontier, Timestamp clock,
                const std::function<void(Timestamp)>& refuse_clock);
  CommandResult decide(const Command& command);
  std::optional<CommandResult> replay(const Command& command);
  Accepted accept(std::vector<NewEvent> events);
  void take_back();
  void append(NewEvent event);
  void flush(std::size_t rows);
  const Domain& domain_of(const Command& command) const;

  Connection& connection_;
  const std::vector<Domain>& domains_;
  LogHead head_;
  Timestamp now_{};
  Position next_position_;
  Frontier tree_;  // of what is written
  Digest root_at_head_{};

  std::unordered_map<std::string, Known> states_;
  std::map<const Command*, std::exception_ptr> unloadable_;  // their streams could not be named
  std::map<Key, Remembered> remembered_;

  std::vector<EventRow> rows_;  // accepted or staged, not yet written
  std::vector<KeyRow> keys_;    // of accepted commands, not yet written
  std::vector<std::string> command_ids_;
  std::string last_leaf_hash_;

  // The command being decided.
  const Command* command_ = nullptr;
  std::string command_id_;
  std::vector<AppendedEvent> appended_;
  std::vector<std::pair<std::string, Known>> undo_;
  std::size_t accepted_rows_ = 0;  // rows_ before this index belong to accepted commands
  bool savepoint_open_ = false;
  Frontier tree_at_savepoint_;
};

}  // namespace writ
