#include "tools/verify.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "events/errors.h"
#include "projections/verify.h"
#include "tools/checkpoint_file.h"
#include "tools/client/options.h"
#include "tools/exit_codes.h"
#include "tools/operate.h"
#include "tools/option_checks.h"
#include "tools/progress_line.h"
#include "writ/admin/v1/admin.pb.h"

namespace writ {
namespace {

struct VerifyOptions : OperateOptions {
  std::int64_t from = -1;
  std::string checkpoint;
  std::vector<std::string> keys;
};

std::optional<VerifiedBefore> verified_before(const VerifyOptions& options) {
  if (options.checkpoint.empty()) return std::nullopt;
  try {
    const Checkpoint checkpoint = options.keys.empty()
                                      ? read_trusted_checkpoint(options.checkpoint)
                                      : read_signed_checkpoint(options.checkpoint, options.keys);
    if (options.from >= 0 && options.from != checkpoint.size.value)
      throw client::UsageError("the checkpoint is of " + std::to_string(checkpoint.size.value) +
                               " events: --from must be that position, or left out");
    return VerifiedBefore{checkpoint.size, checkpoint.root};
  } catch (const std::invalid_argument& e) {
    throw client::UsageError(options.checkpoint + ": " + e.what());
  }
}

int tell_right(std::int64_t from, std::int64_t position, std::int64_t rows,
               const std::string& root) {
  std::cout << "verified: events " << from + 1 << " to " << position << ", " << rows
            << " rows, root " << root << std::endl;
  return kSuccess;
}

int tell_wrong(const std::string& finding) {
  std::cout << "wrong: " << finding << std::endl;
  return kExitWrong;
}

int verify_at_server(const VerifyOptions& options, const std::optional<VerifiedBefore>& before) {
  admin::v1::VerifyRequest request;
  if (before) {
    request.set_from_position(static_cast<std::uint64_t>(before->position.value));
    request.set_from_root(std::string(bytes_of(before->root)));
  }
  std::optional<admin::v1::VerifyResult> result;
  {
    ProgressLine line("verify", "done");
    connect_as_operator(options.url)
        ->stream<admin::v1::VerifyResponse>(
            request, [&](const admin::v1::VerifyResponse& response) {
              if (response.has_result()) result = response.result();
              if (response.has_progress())
                line.show(response.progress().part(),
                          static_cast<std::int64_t>(response.progress().done()),
                          static_cast<std::int64_t>(response.progress().total()));
              return true;
            });
  }
  if (!result) throw client::ConnectionLost("the server ended the answer too early");
  if (!result->finding().empty()) return tell_wrong(result->finding());
  return tell_right(before ? before->position.value : 0,
                    static_cast<std::int64_t>(result->position()),
                    static_cast<std::int64_t>(result->rows()), hex(result->root()));
}

int verify_here(const VerifyOptions& options, const std::optional<VerifiedBefore>& before) {
  VerifyResult result;
  std::string finding;
  on_database(options.database, "interrupted",
              [&](const std::string& serving, const std::function<void()>& check_stop) {
                ProgressLine line("verify", "done");
                try {
                  result =
                      verify(serving, before,
                             [&](const std::string& part, std::int64_t done, std::int64_t total) {
                               check_stop();
                               line.show(part, done, total);
                             });
                } catch (const CorruptLog& e) {
                  finding = e.what();
                }
              });
  if (!finding.empty()) return tell_wrong(finding);
  return tell_right(before ? before->position.value : 0, result.position.value, result.rows,
                    hex(result.root));
}

int run(const VerifyOptions& options) {
  const std::optional<VerifiedBefore> before = verified_before(options);
  return options.url.empty() ? verify_here(options, before) : verify_at_server(options, before);
}

}  // namespace

void add_verify_command(CommandSet& commands) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App& command =
      commands.add("verify", "Check the whole log, and that the read models are what it says",
                   [options] { return client::report([&] { return run(*options); }); });
  CLI::Option* checkpoint =
      command
          .add_option("--checkpoint", options->checkpoint,
                      "Only what came after this checkpoint, of a time when all was right")
          ->type_name("FILE");
  command.add_option("--from", options->from, "The position of that checkpoint, to make sure")
      ->type_name("POSITION")
      ->check(must_be_number(0))
      ->needs(checkpoint);
  command
      .add_option("--key", options->keys,
                  "The key that must have signed the checkpoint; may be given several times")
      ->type_name("KEY")
      ->needs(checkpoint);
  add_operate_options(command, *options);
  command.footer(
      "Ends with `verified: …`, or with `wrong: …`, which names the first position or key that is\n"
      "wrong, and exit code 8. The service may go on meanwhile.");
}

}  // namespace writ
