#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "events/types.h"
#include "service/caller.h"

namespace writ {

/// The file of tokens cannot be used; the text names it and what is wrong.
class TokenFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Somebody with a role. The secret itself is kept nowhere.
struct Token {
  Caller caller;
  std::string secret_sha256;  ///< 32 raw bytes; empty: only the authenticating proxy vouches.
  Timestamp created;
  std::optional<Timestamp> expires;
  std::string instance = "default";  ///< The plugin instance that it speaks for.
};

/// A new secret: `writ_` and 256 random bits in 43 characters.
std::string new_secret();
/// What is kept of a secret.
std::string secret_hash(std::string_view secret);

/// Whether `name` can be an actor: 1 to 128 letters, digits, `.`, `_`, `@`, `+`, `-`, starting with
/// a letter or digit, and not `anonymous`.
bool is_actor_name(std::string_view name);

/// Reads the file. Throws TokenFileError when it is missing, is no such file, says something that
/// it cannot say, or when others than its owner may write it.
std::vector<Token> read_tokens(const std::filesystem::path& file);

/// Locked while `file` is changed; it stays, and tells that there were tokens.
std::filesystem::path token_lock_file(const std::filesystem::path& file);

/// Changes the file in one step, for its owner alone (0600), under a lock beside it: readers see it
/// as it was or as it will be. A missing file is an empty one. Throws TokenFileError, and what
/// `change` throws; then nothing has changed.
void change_tokens(const std::filesystem::path& file,
                   const std::function<void(std::vector<Token>&)>& change);

}  // namespace writ
