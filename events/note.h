#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "events/sha256.h"

// Signed notes, as in C2SP signed-note: a text, a blank line, and a line `— <name> <base64>` for
// each signature. Ed25519 only. Pure: no I/O.

namespace writ {

/// Whether `name` can name a key: UTF-8 without spaces, control characters and "+".
bool is_key_name(std::string_view name);

/// A key that signatures are checked with.
class VerifierKey {
 public:
  /// `public_key` is 32 bytes. Throws std::invalid_argument for any other length or a bad name.
  VerifierKey(std::string name, std::string public_key);

  /// Reads `<name>+<hexadecimal key id>+<base64>`. Throws std::invalid_argument.
  static VerifierKey parse(std::string_view text);

  const std::string& name() const { return name_; }
  /// Four bytes that tell keys of one name apart.
  const std::string& id() const { return id_; }
  /// As `parse` reads it.
  std::string text() const;
  bool verify(std::string_view message, std::string_view signature) const;

 private:
  std::string name_;
  std::string public_key_;
  std::string id_;
};

/// The line, with its line feed, that says `key` has signed: `signature` is 64 bytes.
std::string signature_line(const VerifierKey& key, std::string_view signature);

/// A text is a signed note, and the keys that it was opened with have not signed it.
class BadSignature : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The text of a signed note, its last line feed included, that at least one of `keys` has signed.
/// Signatures by others are passed over. Throws std::invalid_argument for what is no note, and
/// BadSignature for one that none of the keys signed or with a signature that does not hold.
std::string open_note(std::string_view note, std::span<const VerifierKey> keys);

}  // namespace writ
