#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "events/checkpoint_signer.h"
#include "events/connection_pool.h"
#include "events/tiles.h"

namespace writ {

/// The signed checkpoints of the log that is served: on request, and every ten seconds in which it
/// grew, so that a backup put back later is noticed. Signs only what continues the last one.
/// Thread-safe.
class Checkpoints {
 public:
  using Clock = std::chrono::steady_clock;

  /// `signer` is null when there is no key; `pool` has prepare_tile_queries. `broken` is told when
  /// the log is found to be no continuation of the last checkpoint, `warn` once why else none is
  /// signed.
  Checkpoints(ConnectionPool& pool, CheckpointSigner* signer,
              std::function<void(const std::string&)> broken,
              std::function<void(const std::string&)> warn);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// A checkpoint of the head. Throws ConnectError – failed_precondition without a key, data_loss
  /// when the log is no continuation of the last checkpoint – and what the pool throws.
  SignedCheckpoint current(Clock::time_point deadline);

  /// The same for those who ask without end: one that was current no more than a second ago will
  /// do, which costs neither a query nor a signature.
  SignedCheckpoint recent(Clock::time_point deadline);

  /// A checkpoint of exactly the log's first `size` events, which had this root when they were
  /// read. Throws what `current` throws, data_loss also when the log does not continue them.
  SignedCheckpoint of(Position size, const Digest& root, Clock::time_point deadline);

  /// The keys that check it. Throws ConnectError (failed_precondition) without a key.
  std::vector<std::string> verifier_keys() const;

  /// Signs the head once more and signs no more by itself.
  void stop();

 private:
  void work();
  void sign_by_itself();
  CheckpointSigner& signer() const;
  TreeHead checked_head(Connection& connection) const;
  SignedCheckpoint sign_head(Clock::time_point deadline);

  ConnectionPool& pool_;
  CheckpointSigner* const signer_;
  const std::function<void(const std::string&)> broken_, warn_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  bool warned_ = false;
  std::optional<SignedCheckpoint> recent_;
  Clock::time_point recent_at_;
  std::thread thread_;
};

}  // namespace writ
