#include "service/checkpoints.h"

#include <utility>

#include "events/log_check.h"
#include "events/tiles.h"
#include "service/connect.h"

namespace writ {
namespace {

constexpr std::chrono::seconds kBetween{10};
constexpr std::chrono::seconds kPatience{3};

}  // namespace

Checkpoints::Checkpoints(ConnectionPool& pool, CheckpointSigner* signer,
                         std::function<void(const std::string&)> warn)
    : pool_(pool), signer_(signer), warn_(std::move(warn)) {
  if (signer_ != nullptr) thread_ = std::thread([this] { work(); });
}

Checkpoints::~Checkpoints() { stop(); }

CheckpointSigner& Checkpoints::signer() const {
  if (signer_ == nullptr)
    throw ConnectError(Code::kFailedPrecondition,
                       "checkpoints are off: this server was started without a --signing-key");
  return *signer_;
}

SignedCheckpoint Checkpoints::current(Clock::time_point deadline) {
  CheckpointSigner& signer = this->signer();
  return pool_.read(deadline, [&](Connection& connection) {
    // Asked for first: what is signed meanwhile may be beyond the head that is read.
    const std::optional<Checkpoint> last = signer.last();
    const TreeHead head = read_tree_head(connection);
    if (last && (head.size != last->size || head.root != last->root))
      if (const auto trouble = trouble_with_checkpoint(connection, head, *last); !trouble.empty())
        throw CorruptLog(trouble);
    return signer.sign(head.size, head.root);
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
    current(Clock::now() + kPatience);
    warned_ = false;
  } catch (const StorageUnavailable&) {  // told by others
  } catch (const DeadlineExceeded&) {
  } catch (const std::exception& e) {
    if (!std::exchange(warned_, true)) warn_(std::string("no checkpoint is signed: ") + e.what());
  }
}

}  // namespace writ
