#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "events/domain.h"

namespace writ {

/// What the log must do, in memory and without batches: the oracle of random histories. Knows the
/// one query of the counter domain.
class MemoryLog final : public Reader {
 public:
  explicit MemoryLog(Domain domain) : domain_(std::move(domain)) {}

  struct Event {
    StreamName stream;
    StreamVersion version;
    std::string payload;
    std::size_t command;  ///< Which call of `run` appended it.
  };

  /// Runs one command. Throws IdempotencyKeyReused and what `decide` throws; leaves nothing then.
  Outcome run(const Command& command);

  /// In order: event N is at position N+1.
  const std::vector<Event>& events() const { return events_; }

  std::optional<StreamState> latest(const StreamName& stream) override;
  LookupRows query(const std::string& sql, const std::vector<std::string>& args) override;
  void stage(std::vector<NewEvent> events) override;

 private:
  struct Remembered {
    std::string fingerprint;
    Accepted accepted;
  };

  Domain domain_;
  std::vector<Event> events_;
  std::size_t runs_ = 0;
  std::map<std::pair<std::string, std::string>, Remembered> remembered_;
};

}  // namespace writ
