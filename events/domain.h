#pragma once

#include <any>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "events/event.h"
#include "events/types.h"

namespace writ {

/// The newest event of a stream, as a decision sees it.
struct StreamState {
  StreamVersion version;
  Position position;
  std::string type;
  Timestamp recorded_at;
  std::string actor;
  std::optional<std::string>
      payload;            ///< Empty once erased, and for domains that do not ask for it.
  std::string leaf_hash;  ///< Hex.
};

/// Rows of a look-up; NULL is empty.
using LookupRows = std::vector<std::vector<std::optional<std::string>>>;

/// Answers what a decision looks up, as of this command: the effects of the commands before it in
/// the batch are seen, and so is what this command has staged. From memory in tests, from the open
/// transaction in production.
class Reader {
 public:
  virtual ~Reader() = default;

  /// The newest event of `stream`, or nothing when it has none.
  virtual std::optional<StreamState> latest(const StreamName& stream) = 0;

  /// Rows of one SELECT over the read models, with text parameters $1, $2 …. Everything accepted
  /// and staged so far is written first, so that the rows show it.
  virtual LookupRows query(const std::string& sql, const std::vector<std::string>& args) = 0;

  /// Makes the events of one operation visible to the next operation of the same command. If the
  /// command is then rejected they are taken back, all of them.
  virtual void stage(std::vector<NewEvent> events) = 0;
};

/// The command is refused and leaves no event. `why` is a type of the domain's own.
struct Rejected {
  std::any why;
};

/// What a domain says of a command: the events to append after those staged, or a rejection.
using Decision = std::variant<std::vector<NewEvent>, Rejected>;

/// A read model kept in the append's own transaction.
struct InlineProjection {
  std::string name;  ///< Its row in `projections`.
  int version;       ///< Raised when the fold changes; a rebuild records it.

  /// One INSERT … SELECT … FROM batch statement, no parameters. `batch` has the columns position,
  /// stream, version, type, recorded_at and payload of one or many events; it may hold several
  /// events of a stream, of which only the last counts. The write path, rebuild and verify run this
  /// same text.
  std::string fold_sql;
};

/// The statement that folds the events of the positions `first` to `last`, each a parameter such as
/// `$1`.
std::string fold_of_log(const InlineProjection& projection, const std::string& first,
                        const std::string& last);

/// What a domain registers with the sequencer, which knows none by itself.
struct Domain {
  std::string name;            ///< Named by the commands it decides.
  bool needs_payload = false;  ///< Whether `latest` of a loaded stream carries the payload.

  /// The streams to load in one go before `decide`; others are looked up one by one.
  std::function<std::vector<StreamName>(const std::any& body)> load;

  /// Decides one command. Pure but for `reader`; may be called again with the same body.
  std::function<Decision(const std::any& body, Reader& reader)> decide;

  std::vector<InlineProjection> project;
};

inline constexpr std::size_t kMaxActorBytes = 256;
inline constexpr std::size_t kMaxReasonBytes = 4096;

/// A request to change something, as the sequencer takes it.
struct Command {
  std::string domain;
  std::any body;                ///< What the domain's functions understand.
  std::size_t bytes = 0;        ///< About how much memory and payload it takes.
  std::string actor;            ///< At most 256 bytes, never empty.
  std::string reason;           ///< At most 4 KiB.
  std::string request_id;       ///< At most 128 bytes.
  std::string idempotency_key;  ///< "" for none, else at most 128 bytes.
  std::string fingerprint;      ///< 32 bytes that tell this command from others under the same key.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// One event that a command appended.
struct AppendedEvent {
  StreamName stream;
  StreamVersion version;
  Position position;
};

/// The command is in the log, durably.
struct Accepted {
  std::string command_id;  ///< UUID.
  std::vector<AppendedEvent> events;
  Timestamp recorded_at;
  bool replayed = false;  ///< An earlier command with the same idempotency key did it.
};

/// What became of a command.
using Outcome = std::variant<Accepted, Rejected>;

}  // namespace writ
