#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "events/note.h"

namespace writ {

/// The Ed25519 keys of a log, from a file of PEM blocks. Those with their private half sign, all of
/// them, so that one can take over from another; those without are only told to verifiers.
class SigningKeys {
 public:
  /// Reads the file. Throws StartError: not there, not readable, not keys of Ed25519, one that is
  /// damaged, none that can sign. Between keys are only blank lines and comments, which begin with
  /// "#".
  explicit SigningKeys(const std::filesystem::path& file);

  /// What verifiers need, in the order of the file. `name` is the log's.
  std::vector<VerifierKey> verifier_keys(const std::string& name) const;

  /// The text with a signature by each private key. Thread-safe.
  std::string sign(const std::string& name, const std::string& text) const;

 private:
  struct Key {
    std::string public_key;
    std::string private_key;  // "" for one that cannot sign
  };
  std::vector<Key> keys_;
};

/// Makes the file with a new key, mode 0600, unless there is one. Throws StartError.
void make_signing_key(const std::filesystem::path& file);

/// Replaces a file: its content is durable, and never seen in half. Throws StartError.
void write_durably(const std::filesystem::path& file, std::string_view content, int mode);

}  // namespace writ
