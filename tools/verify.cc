#include "tools/verify.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "events/connection.h"
#include "events/errors.h"
#include "events/note.h"
#include "events/tiles.h"
#include "projections/changed_paths_check.h"
#include "projections/verify.h"
#include "tools/checkpoint_file.h"
#include "tools/client/options.h"
#include "tools/exit_codes.h"
#include "tools/operate.h"
#include "tools/option_checks.h"
#include "tools/progress_line.h"
#include "writ/admin/v1/admin.pb.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {
namespace {

struct VerifyOptions : OperateOptions {
  std::string projection;
  std::int64_t from = -1;
  std::string checkpoint;
  std::vector<std::string> keys;
};

/// A log's first events, of which a checkpoint is.
struct Before : VerifiedBefore {
  std::string log_id, origin;
};

std::optional<Before> verified_before(const VerifyOptions& options) {
  if (options.checkpoint.empty()) return std::nullopt;
  const Checkpoint checkpoint = options.keys.empty()
                                    ? read_trusted_checkpoint(options.checkpoint)
                                    : read_signed_checkpoint(options.checkpoint, options.keys);
  if (options.from >= 0 && options.from != checkpoint.size.value)
    throw client::UsageError("the checkpoint is of " + std::to_string(checkpoint.size.value) +
                             " events: --from must be that position, or left out");
  return Before{{checkpoint.size, checkpoint.root}, checkpoint.log_id(), checkpoint.origin};
}

/// Before its hashes are compared: those of another log would look like a past that was rewritten.
void check_same_log(const VerifyOptions& options, const Before& before, const std::string& log_id) {
  if (before.log_id != log_id)
    throw client::UsageError(options.checkpoint + " is a checkpoint of another log, " +
                             before.origin + ": this one is " + log_id);
}

int tell_right(const std::optional<Before>& before, std::int64_t position, std::int64_t rows,
               const std::string& root) {
  const std::int64_t from = before ? before->position.value : 0;
  std::cout << "verified: ";
  if (before && from == position)
    std::cout << "nothing came since position " << from;
  else
    std::cout << "events " << from + 1 << " to " << position;
  std::cout << ", " << rows << " rows, root " << root << std::endl;
  return kSuccess;
}

int tell_right(const CheckedIndex& index) {
  std::cout << "verified: changed_paths, " << index.rows << " rows from " << index.position.value
            << " events" << std::endl;
  return kSuccess;
}

int verify_at_server(const VerifyOptions& options, const std::optional<Before>& before) {
  const auto api = connect_as_operator(options.url);
  admin::v1::VerifyRequest request;
  request.set_projection(options.projection);
  if (before) {
    check_same_log(options, *before,
                   api->call<audit::v1::GetHeadResponse>(audit::v1::GetHeadRequest()).log_id());
    request.set_from_position(static_cast<std::uint64_t>(before->position.value));
    request.set_from_root(std::string(bytes_of(before->root)));
  }
  std::optional<admin::v1::VerifyResult> result;
  {
    ProgressLine line("verify", "done");
    api->stream<admin::v1::VerifyResponse>(request, [&](const admin::v1::VerifyResponse& response) {
      if (response.has_result()) result = response.result();
      if (response.has_progress())
        line.show(response.progress().part(), static_cast<std::int64_t>(response.progress().done()),
                  static_cast<std::int64_t>(response.progress().total()));
      return true;
    });
  }
  if (!result) throw client::ConnectionLost("the server ended the answer too early; run it again");
  if (!result->finding().empty()) return tell_wrong(result->finding());
  if (!options.projection.empty())
    return tell_right(CheckedIndex{{static_cast<std::int64_t>(result->position())},
                                   static_cast<std::int64_t>(result->rows())});
  return tell_right(before, static_cast<std::int64_t>(result->position()),
                    static_cast<std::int64_t>(result->rows()), hex(result->root()));
}

/// Runs `check` on the database itself. Answers what is wrong, "" when nothing is.
std::string find_here(
    const VerifyOptions& options,
    const std::function<void(const std::string& serving, const VerifyProgress&)>& check) {
  std::string finding;
  on_database(options.database, "interrupted",
              [&](const std::string& serving, const std::function<void()>& check_stop) {
                ProgressLine line("verify", "done");
                try {
                  check(serving,
                        [&](const std::string& part, std::int64_t done, std::int64_t total) {
                          check_stop();
                          line.show(part, done, total);
                        });
                } catch (const CorruptLog& e) {
                  finding = e.what();
                }
              });
  return finding;
}

int verify_here(const VerifyOptions& options, const std::optional<Before>& before) {
  VerifyResult result;
  const std::string finding =
      find_here(options, [&](const std::string& serving, const VerifyProgress& progress) {
        if (before) {
          Connection connection(serving);
          check_same_log(options, *before, read_tree_head(connection).log_id);
        }
        result = verify(serving, before, progress);
      });
  if (!finding.empty()) return tell_wrong(finding);
  return tell_right(before, result.position.value, result.rows, hex(result.root));
}

int verify_index_here(const VerifyOptions& options) {
  CheckedIndex index;
  const std::string finding =
      find_here(options, [&](const std::string& serving, const VerifyProgress& progress) {
        index = check_changed_paths(serving, [&](std::int64_t done, std::int64_t total) {
          progress(options.projection, done, total);
        });
      });
  return finding.empty() ? tell_right(index) : tell_wrong(finding);
}

int run(const VerifyOptions& options) {
  std::optional<Before> before;
  try {
    before = verified_before(options);
  } catch (const BadSignature& e) {
    return tell_wrong(e.what());
  }
  if (!options.url.empty()) return verify_at_server(options, before);
  return options.projection.empty() ? verify_here(options, before) : verify_index_here(options);
}

}  // namespace

void add_verify_command(CommandSet& commands) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App& command =
      commands.add("verify", "Check the whole log, and that the settings are what it says",
                   [options] { return client::report([&] { return run(*options); }); });
  CLI::Option* projection =
      command
          .add_option("projection", options->projection,
                      "Instead: that this index is what the log says; takes many times as long")
          ->check(CLI::IsMember({"changed_paths"}).description(""));
  CLI::Option* checkpoint =
      command
          .add_option("--checkpoint", options->checkpoint,
                      "Only what came after this checkpoint, of a time when all was right")
          ->type_name("FILE")
          ->excludes(projection);
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
      "wrong, or a checkpoint that no --key signed, and exit code 8. The service may go on "
      "meanwhile.");
}

}  // namespace writ
