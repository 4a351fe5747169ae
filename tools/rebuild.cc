#include "tools/rebuild.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "projections/read_models.h"
#include "projections/rebuild.h"
#include "tools/client/options.h"
#include "tools/exit_codes.h"
#include "tools/operate.h"
#include "tools/option_checks.h"
#include "tools/progress_line.h"
#include "writ/admin/v1/admin.pb.h"

namespace writ {
namespace {

struct RebuildOptions : OperateOptions {
  std::string projection;
};

void tell_result(const std::string& projection, std::int64_t rows, std::int64_t events) {
  std::cout << "rebuilt " << projection << ": " << rows << " rows from " << events << " events"
            << std::endl;
}

void rebuild_at_server(const RebuildOptions& options) {
  admin::v1::RebuildRequest request;
  request.set_projection(options.projection);
  std::optional<admin::v1::RebuildResult> result;
  {
    ProgressLine line("rebuild " + options.projection, "events");
    connect_as_operator(options.url)
        ->stream<admin::v1::RebuildResponse>(
            request, [&](const admin::v1::RebuildResponse& response) {
              if (response.has_result()) result = response.result();
              if (response.has_progress())
                line.show("", static_cast<std::int64_t>(response.progress().done()),
                          static_cast<std::int64_t>(response.progress().total()));
              return true;
            });
  }
  if (!result) throw client::ConnectionLost("the server ended the answer too early; run it again");
  tell_result(options.projection, static_cast<std::int64_t>(result->rows()),
              static_cast<std::int64_t>(result->position()));
}

void rebuild_here(const RebuildOptions& options) {
  RebuildResult result;
  on_database(options.database,
              "interrupted; the rows are as they were, and the next rebuild goes on from here",
              [&](const std::string& serving, const std::function<void()>& check_stop) {
                ProgressLine line("rebuild " + options.projection, "events");
                const WorkProgress progress = [&](std::int64_t done, std::int64_t total) {
                  check_stop();
                  line.show("", done, total);
                };
                result = options.projection == "changed_paths"
                             ? rebuild_changed_paths(serving, progress)
                             : rebuild(serving, settings_model(), progress);
              });
  tell_result(options.projection, result.rows, result.events);
}

int run(const RebuildOptions& options) {
  if (options.url.empty())
    rebuild_here(options);
  else
    rebuild_at_server(options);
  return kSuccess;
}

}  // namespace

void add_rebuild_command(CommandSet& commands) {
  const auto options = std::make_shared<RebuildOptions>();
  CLI::App& command = commands.add("rebuild", "Build a read model anew from the log", [options] {
    return client::report([&] { return run(*options); });
  });
  const std::vector<std::string> names(std::begin(kRebuildable), std::end(kRebuildable));
  command.add_option("projection", options->projection, "Which one: settings or changed_paths")
      ->required()
      ->check(must_be_one_of(names));
  add_operate_options(command, *options);
  command.footer(
      "Readers and writers go on meanwhile, and see the old table until the new one is complete.\n"
      "When it is interrupted, run it again: it goes on from there.");
}

}  // namespace writ
