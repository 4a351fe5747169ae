#include <CLI/CLI.hpp>
#include <iostream>
#include <stdexcept>

#include "events/envelope.h"
#include "events/merkle.h"
#include "schema/base64.h"
#include "tools/client/commands.h"
#include "tools/client/print.h"
#include "tools/exit_codes.h"
#include "tools/option_checks.h"

namespace writ::client {
namespace {

constexpr char kNotes[] =
    R"(Prints an inclusion proof as C2SP tlog-proof has it: the event's envelope (`extra`, in base64) and its index, the
hashes from it to the root, and the signed checkpoint with that root. Whoever has the log's key (`writ checkpoint
--key`) can check it without the server.)";

struct ProofOptions : ClientOptions {
  std::uint64_t position = 0;
};

/// Whether the proof shows that the event is in the checkpoint's tree: servers may lie.
bool holds(const audit::v1::GetInclusionProofResponse& proof, const std::string& envelope,
           const std::string& root) {
  try {
    Proof path;
    for (const std::string& hash : proof.hashes()) path.push_back(to_digest(hash));
    return verify_inclusion(static_cast<std::int64_t>(proof.position()) - 1,
                            static_cast<std::int64_t>(proof.size()), leaf_hash(envelope), path,
                            to_digest(root));
  } catch (const std::invalid_argument&) {
    return false;
  }
}

int proof(const ProofOptions& options) {
  const auto api = connect(options);
  audit::v1::GetEventRequest wanted;
  wanted.set_position(options.position);
  const auto event = api->call<audit::v1::GetEventResponse>(wanted);
  const auto checkpoint =
      api->call<audit::v1::GetCheckpointResponse>(audit::v1::GetCheckpointRequest());
  audit::v1::GetInclusionProofRequest request;
  request.set_position(options.position);
  request.set_size(checkpoint.size());
  const auto proof = api->call<audit::v1::GetInclusionProofResponse>(request);
  if (!holds(proof, event.envelope(), checkpoint.root())) {
    std::cerr << "writ: the server's proof does not hold: the event is not in the tree that the "
                 "server has signed\n";
    return kFailure;
  }
  if (options.output != Output::kTable) {
    print_message(event, options.output);
    print_message(proof, options.output, false);
    print_message(checkpoint, options.output, false);
    return kSuccess;
  }
  std::cout << "c2sp.org/tlog-proof@v1\nextra " << encode_base64(event.envelope()) << "\nindex "
            << options.position - 1 << '\n';
  for (const std::string& hash : proof.hashes()) std::cout << encode_base64(hash) << '\n';
  std::cout << '\n' << checkpoint.note();
  return kSuccess;
}

}  // namespace

void add_proof(CommandSet& commands) {
  const auto options = std::make_shared<ProofOptions>();
  CLI::App& command = add_client_command(commands, "proof",
                                         "Proves that an event is in the log, for checking offline",
                                         options, proof);
  command.footer(kNotes);
  command.add_option("position", options->position, "The event's position")
      ->type_name("POSITION")
      ->required()
      ->check(must_be_number(1));
}

}  // namespace writ::client
