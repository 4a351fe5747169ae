#include "tools/identity_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tools/option_checks.h"
#include "tools/token.h"

namespace writ {
namespace {

bool is_header_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

}  // namespace

void add_caller_options(CLI::App& command, CallerOptions& options) {
  add_token_file_option(command, options.token_file);
  CLI::Option* header =
      command
          .add_option("--actor-header", options.actor_header,
                      "The header in which an authenticating proxy names the caller, such as "
                      "X-Forwarded-User; its role is a token made with --behind-proxy")
          ->envname("WRIT_ACTOR_HEADER")
          ->type_name("NAME")
          ->check(must_hold(is_header_name, "is no name of a header"));
  CLI::Option* proxies =
      command
          .add_option("--trusted-proxy", options.trusted_proxies,
                      "Address of that proxy, such as 10.1.2.3 or 10.1.0.0/16; from others the "
                      "header is ignored; may be repeated, with commas in the environment")
          ->envname("WRIT_TRUSTED_PROXY")
          ->type_name("ADDRESS")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(must_parse(AddressRange::parse));
  header->needs(proxies);
  proxies->needs(header);
  command
      .add_flag("--require-reason", options.require_reason,
                "Refuse changes that do not say why (header Writ-Reason)")
      ->envname("WRIT_REQUIRE_REASON");
}

IdentityOptions identity_options(const CallerOptions& options,
                                 const std::filesystem::path& data_directory) {
  IdentityOptions identity;
  identity.token_file = TokenFileOptions{data_directory, options.token_file}.path();
  identity.actor_header = options.actor_header;
  for (const std::string& proxy : options.trusted_proxies)
    identity.trusted_proxies.push_back(AddressRange::parse(proxy));
  return identity;
}

std::string token_file_trouble(const CallerOptions& options, const IdentityOptions& identity) {
  std::error_code error;
  const std::filesystem::path& file = identity.token_file;
  if (std::filesystem::exists(file, error)) return "";
  if (!options.token_file.empty())
    return file.string() + " is not there: `writ token create --token-file " + file.string() +
           "` makes it; without --token-file it is tokens.json in the data directory";
  const std::filesystem::path lock = token_lock_file(file);
  if (!std::filesystem::exists(lock, error)) return "";
  return file.string() +
         " is gone, and there were tokens once: restore it, make new ones with `writ "
         "token create`, or remove " +
         lock.string() + " to let everybody in again";
}

bool has_authentication(const IdentityOptions& options) {
  std::error_code error;
  return !options.actor_header.empty() || std::filesystem::exists(options.token_file, error);
}

}  // namespace writ
