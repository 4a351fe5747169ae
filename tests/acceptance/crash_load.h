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
  std::string id;     ///< The queue that it writes.
  bool keyed = true;  ///< Whether the id was its idempotency key as well.
  std::string method;
  Json request;
  int record = 0;
  Fate fate = Fate::kUnknown;
  long version = 0;  ///< Of an accepted one.
};

/// Many writers on few records that go on until the service is gone or they are told to stop:
/// creations, updates of the version they believe to be current, and now and then of one that is
/// stale. While the service says that it is not ready, they wait.
class CrashLoad {
 public:
  static constexpr int kThreads = 8;
  static constexpr int kRecords = 12;

  /// Begins a round: nothing is accepted yet, and nobody has said stop.
  void begin();
  /// Runs until every thread has stopped. `round` keeps the keys of rounds apart.
  void run(int round, std::uint16_t port);
  /// From another thread.
  void stop() { stopping_ = true; }
  /// How many writes of this round were accepted so far.
  long accepted() const { return accepted_; }

  const std::vector<SentWrite>& sent() const { return sent_; }
  static Json key(int record);
  /// Sends a write, for the first time or again.
  static HttpAnswer send(ApiClient& client, const SentWrite& write);

 private:
  void work(int round, int thread, std::uint16_t port);
  SentWrite next(const std::string& id, bool keyed, int record, bool stale) const;
  /// Keeps what the answer says of the write; true when it says anything.
  bool note(SentWrite& write, const HttpAnswer& answer);

  std::atomic<bool> stopping_ = false;
  std::atomic<long> accepted_ = 0;
  std::atomic<long> versions_[kRecords] = {};
  std::mutex mutex_;
  std::vector<SentWrite> sent_;
};

}  // namespace writ::test
