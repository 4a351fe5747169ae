#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "service/authenticator.h"
#include "tools/cli_fwd.h"

namespace writ {

/// Who may call, as `serve` is told.
struct CallerOptions {
  std::filesystem::path token_file;  ///< Empty: `tokens.json` in the data directory.
  std::string actor_header;
  std::vector<std::string> trusted_proxies;
  bool require_reason = false;
};

void add_caller_options(CLI::App& command, CallerOptions& options);

/// What the options say, with the file's path filled in.
IdentityOptions identity_options(const CallerOptions& options,
                                 const std::filesystem::path& data_directory);

/// Why the file of tokens cannot be meant as it is: one that was named and is not there, or one
/// that was there once. Else "".
std::string token_file_trouble(const CallerOptions& options, const IdentityOptions& identity);

/// Whether callers have to say who they are: there is a token file now, or a proxy.
bool has_authentication(const IdentityOptions& options);

}  // namespace writ
