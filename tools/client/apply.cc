#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "schema/protojson.h"
#include "tools/client/commands.h"
#include "tools/client/input_file.h"
#include "tools/client/point.h"
#include "tools/client/print.h"
#include "tools/client/printable.h"
#include "tools/client/run_file.h"
#include "tools/client/scope_name.h"
#include "tools/exit_codes.h"

namespace writ::client {
namespace {

using apply::v1::ApplyRunResponse;

struct ApplyOptions : ClientOptions {
  std::string file, at;
  bool explain = false, drop_unknown = false;
};

RunFile read_run(const ApplyOptions& options) {
  try {
    RunFile run = read_run_file(read_input(options.file, "a run"));
    if (run.unknown_fields.empty()) return run;
    std::string names;
    for (const std::string& name : run.unknown_fields)
      names += (names.empty() ? "" : ", ") + printable(name);
    if (!options.drop_unknown)
      throw UsageError("no such fields: " + names + " (--drop-unknown leaves them out)");
    std::cerr << "writ: left out: " << names << "\n";
    return run;
  } catch (const UsageError& e) {
    throw UsageError(printable(options.file) + ": " + e.what());
  }
}

const char* name_of(apply::v1::Action action) {
  switch (action) {
    case apply::v1::ACTION_FILLED:
      return "filled";
    case apply::v1::ACTION_CAPPED:
      return "capped";
    case apply::v1::ACTION_MIRRORED:
      return "mirrored";
    default:
      return "changed";
  }
}

/// Columns behind the action: what did it, at which scope and by which event.
template <class Source>
void add_source(const ApplyOptions& options, const Source& source, std::vector<Table::Cell>* row) {
  row->emplace_back(printable(source.setting()));
  row->emplace_back(scope_name(options.key(), source.scope_level()));
  row->emplace_back(std::to_string(source.position()));
}

void explain(const ApplyOptions& options, const ApplyRunResponse& response) {
  Table table({"FIELD", "WAS", "IS", "", "SETTING", "SET AT", "POSITION"});
  for (const apply::v1::Change& change : response.changes()) {
    std::vector<Table::Cell> row = {
        printable(change.path()),
        change.has_before() ? printable(change.before()) : "-",
        {printable(change.after()), change.has_before() ? Colour::kYellow : Colour::kGreen},
        name_of(change.action())};
    if (!change.setting().empty()) add_source(options, change, &row);
    table.add(std::move(row));
    const apply::v1::Bound& bound = change.bounded_by();
    if (!bound.field().empty())
      table.add({{"  kept down by " + printable(bound.field()), Colour::kDim}});
    if (bound.setting().empty()) continue;
    std::vector<Table::Cell> why = {{"  kept down by", Colour::kDim}, "", "", ""};
    add_source(options, bound, &why);
    table.add(std::move(why));
  }
  if (table.empty()) std::cout << "nothing is changed\n";
  table.print();
}

int apply_run(const ApplyOptions& options) {
  apply::v1::ApplyRunRequest request;
  *request.mutable_key() = options.key();
  if (!options.at.empty()) *request.mutable_at() = parse_point(options.at);
  RunFile run = read_run(options);
  *request.mutable_run_spec() = std::move(run.run_spec);
  *request.mutable_tasks() = {run.tasks.begin(), run.tasks.end()};
  const auto response = connect(options)->call<ApplyRunResponse>(request);
  for (const std::string& warning : response.warnings())
    std::cerr << "writ: " << printable(warning) << "\n";

  const bool table = options.output == Output::kTable;
  if (!options.explain) {
    ApplyRunResponse spec;
    *spec.mutable_run_spec() = response.run_spec();
    *spec.mutable_tasks() = response.tasks();
    print_message(spec, table ? Output::kYaml : options.output);
    if (!table || isatty(STDOUT_FILENO) != 1) return kSuccess;
    std::cout << "\n";
  }
  if (table) {
    explain(options, response);
  } else {
    ApplyRunResponse explained = response;
    explained.clear_run_spec();
    explained.clear_tasks();
    print_message(explained, options.output);
  }
  return kSuccess;
}

}  // namespace

void add_apply(CommandSet& commands) {
  const auto options = std::make_shared<ApplyOptions>();
  CLI::App& command = add_client_command(
      commands, "apply", "A run as it would be submitted, with what the settings change", options,
      apply_run);
  command
      .add_option("file", options->file, "YAML or JSON with runSpec and tasks; - is standard input")
      ->type_name("FILE")
      ->required();
  add_scope_options(command, *options);
  command.add_option("--at", options->at, std::string("By the settings then: ") + kPointForms)
      ->type_name("POINT");
  command.add_flag("--explain", options->explain,
                   "Only what is changed and why, which a terminal shows below the spec");
  command.add_flag("--drop-unknown", options->drop_unknown,
                   "Leave out fields of the file that this program does not know");
}

}  // namespace writ::client
