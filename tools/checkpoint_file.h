#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "events/checkpoint.h"

namespace writ {

/// Reads a signed checkpoint and checks that one of `keys`, as texts, has signed it and is the key
/// of its log. Throws client::UsageError for a file that cannot be read or is no signed checkpoint
/// and a key that is none, BadSignature for a checkpoint that no key of its log has signed.
Checkpoint read_signed_checkpoint(const std::filesystem::path& file,
                                  const std::vector<std::string>& keys);

/// Reads a checkpoint that the caller trusts as it is, signed or not. Throws client::UsageError.
Checkpoint read_trusted_checkpoint(const std::filesystem::path& file);

}  // namespace writ
