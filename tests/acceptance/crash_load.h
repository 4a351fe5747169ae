#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tests/acceptance/api_client.h"

namespace writ::test {

/// One write that was sent, and what its sender knows of it.
struct SentWrite {
  enum class Fate { kAccepted, kRejected, kUnknown };
  std::string id;  ///< Its idempotency key, which is also the queue that it writes.
  std::string method;
  Json request;
  int record = 0;
  Fate fate = Fate::kUnknown;
  long version = 0;  ///< Of an accepted one.
};

/// Many writers on few records that go on until the service is gone: creations, updates of the
/// version they believe to be current, and now and then of one that is stale.
class CrashLoad {
 public:
  static constexpr int kThreads = 8;
  static constexpr int kRecords = 12;

  /// Runs until every thread has lost the service. `round` keeps the keys of rounds apart.
  void run(int round, std::uint16_t port);
  /// How many writes of this round were accepted so far.
  long accepted() const { return accepted_; }

  const std::vector<SentWrite>& sent() const { return sent_; }
  static Json key(int record);

 private:
  void work(int round, int thread, std::uint16_t port);
  SentWrite next(const std::string& id, int record, bool stale) const;

  std::atomic<long> accepted_ = 0;
  std::atomic<long> versions_[kRecords] = {};
  std::mutex mutex_;
  std::vector<SentWrite> sent_;
};

}  // namespace writ::test
