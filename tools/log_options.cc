#include "tools/log_options.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "events/cluster_home.h"
#include "events/note.h"

namespace writ {
namespace {

/// A group that may read it is no mistake: secrets are mounted so.
void warn_of_readable_key(const std::filesystem::path& file) {
  using std::filesystem::perms;
  if ((std::filesystem::status(file).permissions() & perms::others_read) == perms::none) return;
  std::cerr << "writ: warning: everybody on this machine may read the signing key in "
            << file.string() << " and sign for the log: chmod 600 " << file.string() << std::endl;
}

}  // namespace

void add_log_options(CLI::App& command, LogOptions& options) {
  command
      .add_option("--signing-key", options.signing_key,
                  "Sign checkpoints of the log with this key, a PEM file of Ed25519; by default "
                  "one in the data directory, and with --database-url none")
      ->envname("WRIT_SIGNING_KEY")
      ->type_name("FILE");
  command
      .add_option("--log-name", options.log_name,
                  "Names the log and its key in checkpoints, before a slash and the log's id; a "
                  "host name of yours is a good one")
      ->envname("WRIT_LOG_NAME")
      ->type_name("NAME")
      ->check(CLI::Validator(
          [](const std::string& text) {
            if (is_key_name(text)) return std::string();
            return "\"" + text + "\" is no name: it must not be empty nor have spaces or \"+\"";
          },
          "", "name"))
      ->capture_default_str();
}

std::unique_ptr<CheckpointSigner> make_signer(const LogOptions& options,
                                              const std::filesystem::path& data_directory,
                                              bool private_database, const std::string& log_id) {
  if (!private_database && options.signing_key.empty()) return nullptr;
  const std::filesystem::path directory =
      private_database ? data_directory : prepare_data_directory(data_directory);
  SignerOptions signer;
  signer.make_key = options.signing_key.empty();
  signer.key_file = signer.make_key ? directory / "signing-key" : options.signing_key;
  signer.last_file = directory / "checkpoint";
  signer.log_name = options.log_name;
  const std::filesystem::path key_file = signer.key_file;
  auto made = std::make_unique<CheckpointSigner>(std::move(signer), log_id);
  warn_of_readable_key(key_file);
  return made;
}

}  // namespace writ
