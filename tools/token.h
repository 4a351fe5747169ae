#pragma once

#include <filesystem>

#include "tools/cli_fwd.h"

namespace writ {

class CommandSet;

/// The file of tokens, given as an option or beside the private PostgreSQL.
struct TokenFileOptions {
  std::filesystem::path data_directory = ".writ";
  std::filesystem::path file;  ///< Empty: `tokens.json` in the data directory.

  std::filesystem::path path() const;
};

/// Adds `--token-file`.
void add_token_file_option(CLI::App& command, std::filesystem::path& file);

/// `writ token create|list|revoke`: works on the file, whether a server runs or not.
void add_token_command(CommandSet& commands);

}  // namespace writ
