#include "service/checkpoints.h"

#include <utility>

#include "events/log_check.h"
#include "events/tiles.h"
#include "service/connect.h"

namespace writ {
namespace {

constexpr std::chrono::seconds kBetween{10};
constexpr std::chrono::seconds kRecent{1};
constexpr std::chrono::seconds kPatience{3};

/// What `sign` answers; that the log is broken is told to the caller, who may be a witness of it.
template <typename Sign>
SignedCheckpoint told(Sign sign) {
  try {
    return sign();
  } catch (const CorruptLog& e) {
    throw ConnectError(Code::kDataLoss, e.what());
  }
}

}  // namespace

Checkpoints::Checkpoints(ConnectionPool& pool, CheckpointSigner* signer,
                         std::function<void(const std::string&)> broken,
                         std::function<void(const std::string&)> warn)
    : pool_(pool), signer_(signer), broken_(std::move(broken)), warn_(std::move(warn)) {
  if (signer_ != nullptr) thread_ = std::thread([this] { work(); });
}

Checkpoints::~Checkpoints() { stop(); }

CheckpointSigner& Checkpoints::signer() const {
  if (signer_ == nullptr)
    throw ConnectError(Code::kFailedPrecondition,
                       "checkpoints are off: this server was started without a --signing-key");
  return *signer_;
}

/// The head, which continues what was signed last.
TreeHead Checkpoints::checked_head(Connection& connection) const {
  // Asked for first: what is signed meanwhile may be beyond the head that is read.
  const std::optional<Checkpoint> last = signer().last();
  TreeHead head = read_tree_head(connection);
  if (last && (head.size != last->size || head.root != last->root))
    if (const auto trouble = trouble_with_checkpoint(connection, head, *last); !trouble.empty())
      throw CorruptLog(trouble);
  return head;
}

SignedCheckpoint Checkpoints::sign_head(Clock::time_point deadline) {
  CheckpointSigner& signer = this->signer();
  const Clock::time_point asked = Clock::now();
  SignedCheckpoint now = pool_.read(deadline, [&](Connection& connection) {
    const TreeHead head = checked_head(connection);
    return signer.sign(head.size, head.root);
  });
  const std::lock_guard lock(mutex_);
  recent_ = now;
  recent_at_ = asked;
  return now;
}

SignedCheckpoint Checkpoints::current(Clock::time_point deadline) {
  return told([&] { return sign_head(deadline); });
}

SignedCheckpoint Checkpoints::recent(Clock::time_point deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (recent_ && Clock::now() - recent_at_ < kRecent) return *recent_;
  }
  return current(deadline);
}

SignedCheckpoint Checkpoints::of(Position size, const Digest& root, Clock::time_point deadline) {
  CheckpointSigner& signer = this->signer();
  return told([&] {
    return pool_.read(deadline, [&](Connection& connection) {
      const TreeHead head = checked_head(connection);
      const Checkpoint wanted{signer.origin(), size, root};
      if (const auto trouble = trouble_with_checkpoint(connection, head, wanted); !trouble.empty())
        throw CorruptLog(trouble);
      return signer.sign_exactly(size, root);
    });
  });
}

std::vector<std::string> Checkpoints::verifier_keys() const { return signer().verifier_keys(); }

void Checkpoints::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  sign_by_itself();
}

void Checkpoints::work() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kBetween, [this] { return stopping_; })) {
    lock.unlock();
    sign_by_itself();
    lock.lock();
  }
}

void Checkpoints::sign_by_itself() {
  try {
    sign_head(Clock::now() + kPatience);
    warned_ = false;
  } catch (const CorruptLog& e) {
    broken_(e.what());
  } catch (const StorageUnavailable&) {  // told by others
  } catch (const DeadlineExceeded&) {
  } catch (const std::exception& e) {
    if (!std::exchange(warned_, true)) warn_(std::string("no checkpoint is signed: ") + e.what());
  }
}

}  // namespace writ
