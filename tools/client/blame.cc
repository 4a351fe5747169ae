#include <CLI/CLI.hpp>
#include <iostream>

#include "schema/quote.h"
#include "tools/client/change_filter.h"
#include "tools/client/commands.h"
#include "tools/client/point.h"
#include "tools/client/print.h"
#include "tools/client/printable.h"
#include "tools/client/scope_name.h"
#include "tools/client/setting_value.h"
#include "tools/exit_codes.h"

namespace writ::client {
namespace {

struct BlameOptions : ClientOptions {
  std::string path, at;
};

void add_row(Table& table, const ClientOptions& options, const Table::Cell& path,
             const audit::v1::LeafValue& value, const audit::v1::Origin& origin) {
  std::vector<Table::Cell> row = {path,
                                  shown(value),
                                  scope_name(options.key(), origin.scope_level()),
                                  std::to_string(origin.position()),
                                  printable(origin.actor()),
                                  time_text(origin.time())};
  if (!origin.reason().empty()) row.push_back({quote(origin.reason()), Colour::kBold});
  table.add(std::move(row));
}

int blame(const BlameOptions& options) {
  audit::v1::BlameRequest request;
  *request.mutable_key() = options.key();
  request.set_path(history_path(options.path));
  if (!options.at.empty()) *request.mutable_at() = parse_point(options.at);
  const auto response = connect(options)->call<audit::v1::BlameResponse>(request);
  if (options.output != Output::kTable) {
    print_message(response, options.output);
    return kSuccess;
  }
  Table table({"SETTING", "VALUE", "SET AT", "POSITION", "BY", "TIME", "REASON"});
  for (int i = 0; i < response.leaves_size(); ++i) {
    const auto& leaf = response.leaves(i);
    // A map whose entries follow is told by them.
    if (i + 1 < response.leaves_size() &&
        response.leaves(i + 1).path().starts_with(leaf.path() + "["))
      continue;
    add_row(table, options, {printable(leaf.path())}, leaf.value(), leaf.origin());
    for (const auto& hidden : leaf.hidden())
      add_row(table, options, {"  hides", Colour::kDim}, hidden.value(), hidden.origin());
  }
  if (table.empty()) std::cout << "nothing is set\n";
  table.print();
  return kSuccess;
}

}  // namespace

void add_blame(CommandSet& commands) {
  const auto options = std::make_shared<BlameOptions>();
  CLI::App& command = add_client_command(
      commands, "blame", "Who last set each setting in effect, when and why", options, blame);
  command.add_option("path", options->path, "Only this setting, entry of a map or group")
      ->type_name("PATH");
  add_scope_options(command, *options);
  command.add_option("--at", options->at, std::string("As it was then: ") + kPointForms)
      ->type_name("POINT");
}

}  // namespace writ::client
