#include "tools/export.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "events/note.h"
#include "projections/export_check.h"
#include "tools/checkpoint_file.h"
#include "tools/client/options.h"
#include "tools/exit_codes.h"
#include "tools/operate.h"
#include "tools/progress_line.h"
#include "writ/admin/v1/admin.pb.h"

namespace writ {
namespace {

struct ExportOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string checkpoint;
};

void write_checkpoint(const std::string& file, const std::string& note) {
  if (!(std::ofstream(file, std::ios::binary) << note).flush())
    throw std::runtime_error("cannot write the checkpoint to " + file);
}

/// Before a long export, which would be for nothing. Leaves no file behind, and one that is there
/// as it is.
void check_writable(const std::string& file) {
  const bool was_there = std::filesystem::exists(file);
  if (!std::ofstream(file, std::ios::binary | std::ios::app))
    throw client::UsageError("--checkpoint: cannot write " + file +
                             "; nothing was exported: name a file in a directory that is there");
  if (!was_there) std::filesystem::remove(file);
}

int export_log(const ExportOptions& options) {
  if (!options.checkpoint.empty()) check_writable(options.checkpoint);
  admin::v1::ExportRequest request;
  request.set_checkpoint(!options.checkpoint.empty());
  std::optional<admin::v1::ExportResult> result;
  {
    ProgressLine line("export", "done");
    connect_as_operator(options.url)
        ->stream<admin::v1::ExportResponse>(
            request, [&](const admin::v1::ExportResponse& response) {
              if (response.has_result()) result = response.result();
              if (response.has_progress())
                line.show(response.progress().part(),
                          static_cast<std::int64_t>(response.progress().done()),
                          static_cast<std::int64_t>(response.progress().total()));
              std::cout << response.lines();
              return static_cast<bool>(std::cout);
            });
  }
  if (!std::cout.flush()) throw std::runtime_error("cannot write the export");
  if (!result) throw client::ConnectionLost("the server ended the answer too early; run it again");
  if (request.checkpoint()) write_checkpoint(options.checkpoint, result->checkpoint());
  std::cerr << "exported: " << result->position() << " events, " << result->rows() << " rows, root "
            << hex(result->root()) << std::endl;
  return kSuccess;
}

struct VerifyExportOptions {
  std::string file, checkpoint, old_checkpoint;
  std::vector<std::string> keys;
};

std::ifstream open_export(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!std::filesystem::is_regular_file(file) || !in)
    throw client::UsageError("cannot read " + file +
                             ": the file that `writ export` wrote is needed");
  return in;
}

/// Another file is told as one, instead of as a line that cannot be read. An empty one is an export
/// that was cut off.
void check_begin(std::ifstream in, const std::string& file) {
  std::string begin(16, '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (in.gcount() == 0) return;
  for (const char* line : {"{\"envelope\":", "{\"settings\":", "{\"end\":"})
    if (begin.starts_with(line)) return;
  throw BadExport(file + " is no export: it does not begin as what `writ export` writes");
}

int verify_export(const VerifyExportOptions& options) {
  std::ifstream in = open_export(options.file);
  try {
    ExportTrust trust{read_signed_checkpoint(options.checkpoint, options.keys), std::nullopt};
    if (!options.old_checkpoint.empty())
      trust.old = read_signed_checkpoint(options.old_checkpoint, options.keys);
    check_begin(std::move(in), options.file);
    CheckedExport checked;
    {
      ProgressLine line("verify-export", "bytes");
      checked = check_export(options.file, trust, [&](std::int64_t done, std::int64_t total) {
        line.show("", done, total);
      });
    }
    std::cout << "verified: " << checked.events << " events, " << checked.rows << " rows, root "
              << hex(trust.checkpoint.root) << std::endl;
    return kSuccess;
  } catch (const BadSignature& e) {
    return tell_wrong(e.what());
  } catch (const BadExport& e) {
    return tell_wrong(e.what());
  }
}

}  // namespace

void add_export_command(CommandSet& commands) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App& command =
      commands.add("export", "The whole log and the settings, as lines of JSON",
                   [options] { return client::report([&] { return export_log(*options); }); });
  command.add_option("--url", options->url, "The server")
      ->envname("WRIT_URL")
      ->type_name("URL")
      ->capture_default_str();
  command
      .add_option("--checkpoint", options->checkpoint,
                  "Write a signed checkpoint of the same moment to this file")
      ->type_name("FILE");
  command.footer(
      "To standard output, all of one moment; `exported: …` on standard error is the last word.\n"
      "`writ verify-export` checks it, with a checkpoint of the same moment.");
}

void add_verify_export_command(CommandSet& commands) {
  const auto options = std::make_shared<VerifyExportOptions>();
  CLI::App& command =
      commands.add("verify-export", "Check an export, without a server or a database",
                   [options] { return client::report([&] { return verify_export(*options); }); });
  command.add_option("file", options->file, "What `writ export` wrote")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--key", options->keys,
                  "The log's verifier key (writ checkpoint --key); may be given several times")
      ->required()
      ->type_name("KEY");
  command
      .add_option("--checkpoint", options->checkpoint, "A signed checkpoint of all that is in it")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--old-checkpoint", options->old_checkpoint,
                  "An earlier one, which the export must continue")
      ->type_name("FILE");
  command.footer(
      "Ends with `verified: …`, or with `wrong: …`, which says what is wrong first, and exit code "
      "8.");
}

}  // namespace writ
