#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "events/checkpoint.h"
#include "events/signing_keys.h"

namespace writ {

/// Where a log's key and its last checkpoint are kept: outside the database, so that they tell when
/// that is put back.
struct SignerOptions {
  std::filesystem::path key_file;
  bool make_key = false;            ///< When there is no such file.
  std::filesystem::path last_file;  ///< The last checkpoint signed; made when first needed.
  std::string log_name;             ///< Names the log and its key, before `/` and the log's id.
};

/// A checkpoint and the note that says so.
struct SignedCheckpoint {
  Checkpoint checkpoint;
  std::string note;
};

/// Signs checkpoints of one log. What was signed is on the disk before anybody sees it.
/// Thread-safe.
class CheckpointSigner {
 public:
  /// Reads, or makes, the key, and reads the last checkpoint. Throws StartError.
  CheckpointSigner(SignerOptions options, const std::string& log_id);

  /// `<configured name>/<log id>`.
  const std::string& origin() const { return origin_; }
  /// All keys of the log, the signing ones and those before them, as text for verifiers.
  std::vector<std::string> verifier_keys() const;

  /// The last checkpoint signed, by this process or those before it; nothing when there is none.
  std::optional<Checkpoint> last() const;
  /// Why the file with the last checkpoint cannot be believed; "" when it can, or there is none.
  const std::string& distrust() const { return distrust_; }

  /// Signs the tree of this size. The caller has made sure that it is a continuation of the last
  /// one. One that is overtaken by a larger one answers that.
  SignedCheckpoint sign(Position size, const Digest& root);

  /// The same for exactly this size: an earlier tree is signed as well, and the last one stays.
  SignedCheckpoint sign_exactly(Position size, const Digest& root);

  /// Signs another tree than a continuation of the last one.
  SignedCheckpoint start_over(Position size, const Digest& root);

 private:
  void read_last();
  SignedCheckpoint sign_and_keep(Position size, const Digest& root);

  const SignerOptions options_;
  const std::string origin_;
  const SigningKeys keys_;
  std::string distrust_;
  mutable std::mutex mutex_;
  std::optional<Checkpoint> last_;
  std::string note_;  // of last_, with the keys of now; "" until this process has signed
};

}  // namespace writ
