#include "events/checkpoint_signer.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "events/errors.h"

namespace writ {
namespace {

SigningKeys keys_of(const SignerOptions& options) {
  if (!is_key_name(options.log_name))
    throw StartError("\"" + options.log_name +
                     "\" cannot name a log: it must not be empty nor have spaces or \"+\"");
  if (options.make_key) make_signing_key(options.key_file);
  return SigningKeys(options.key_file);
}

}  // namespace

CheckpointSigner::CheckpointSigner(SignerOptions options, const std::string& log_id)
    : options_(std::move(options)),
      origin_(options_.log_name + '/' + log_id),
      keys_(keys_of(options_)) {
  read_last();
}

void CheckpointSigner::read_last() {
  if (!std::filesystem::exists(options_.last_file)) return;
  std::ifstream in(options_.last_file, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  try {
    if (!in) throw std::invalid_argument("it cannot be read");
    const std::string note = content.str();
    // The log's name may have been another one then.
    const std::string origin = note.substr(0, note.find('\n'));
    last_ = parse_checkpoint(open_note(note, keys_.verifier_keys(origin)));
  } catch (const std::invalid_argument& e) {
    distrust_ = "the last checkpoint, in " + options_.last_file.string() +
                ", cannot be believed: " + e.what();
  }
}

std::vector<std::string> CheckpointSigner::verifier_keys() const {
  std::vector<std::string> texts;
  for (const VerifierKey& key : keys_.verifier_keys(origin_)) texts.push_back(key.text());
  return texts;
}

std::optional<Checkpoint> CheckpointSigner::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

SignedCheckpoint CheckpointSigner::sign(Position size, const Digest& root) {
  const std::lock_guard lock(mutex_);
  if (!note_.empty() && size <= last_->size) return {*last_, note_};
  return sign_and_keep(size, root);
}

SignedCheckpoint CheckpointSigner::sign_exactly(Position size, const Digest& root) {
  const std::lock_guard lock(mutex_);
  if (!last_ || size > last_->size) return sign_and_keep(size, root);
  const Checkpoint earlier{origin_, size, root};
  return {earlier, keys_.sign(origin_, checkpoint_text(earlier))};
}

SignedCheckpoint CheckpointSigner::start_over(Position size, const Digest& root) {
  const std::lock_guard lock(mutex_);
  return sign_and_keep(size, root);
}

SignedCheckpoint CheckpointSigner::sign_and_keep(Position size, const Digest& root) {
  const Checkpoint checkpoint{origin_, size, root};
  const std::string note = keys_.sign(origin_, checkpoint_text(checkpoint));
  write_durably(options_.last_file, note, 0644);
  last_ = checkpoint;
  note_ = note;
  return {checkpoint, note};
}

}  // namespace writ
