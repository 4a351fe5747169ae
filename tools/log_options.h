#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "events/checkpoint_signer.h"
#include "tools/cli_fwd.h"

namespace writ {

/// How the log is signed.
struct LogOptions {
  std::filesystem::path signing_key;  ///< Empty: one of the private PostgreSQL's, or none.
  std::string log_name = "writ";
};

/// Adds `--signing-key` and `--log-name`.
void add_log_options(CLI::App& command, LogOptions& options);

/// What signs checkpoints. With the private PostgreSQL the key is `signing-key` in the data
/// directory, made when it is missing, unless the options name one; with a database of the
/// operator's own it is null unless they do. The last checkpoint is `checkpoint` in the data
/// directory, which is made when it is missing. Warns on standard error of a key that everybody may
/// read. Throws StartError.
std::unique_ptr<CheckpointSigner> make_signer(const LogOptions& options,
                                              const std::filesystem::path& data_directory,
                                              bool private_database, const std::string& log_id);

}  // namespace writ
