#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "events/checkpoint.h"

namespace writ {

/// Reads a signed checkpoint and checks that one of `keys`, as texts, has signed it and is the key
/// of its log. Throws client::UsageError for a file that cannot be read and a key that is none,
/// std::invalid_argument with what is wrong with the note.
Checkpoint read_signed_checkpoint(const std::filesystem::path& file,
                                  const std::vector<std::string>& keys);

/// Reads a checkpoint that the caller trusts as it is, signed or not.
Checkpoint read_trusted_checkpoint(const std::filesystem::path& file);

}  // namespace writ
