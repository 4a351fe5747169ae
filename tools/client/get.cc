#include <CLI/CLI.hpp>
#include <iostream>

#include "schema/leaf_diff.h"
#include "schema/merge.h"
#include "tools/client/commands.h"
#include "tools/client/point.h"
#include "tools/client/print.h"
#include "tools/client/printable.h"
#include "tools/client/record.h"
#include "tools/client/scope_name.h"
#include "tools/client/setting_value.h"
#include "tools/exit_codes.h"

namespace writ::client {
namespace {

namespace fs = flyteidl2::settings;

struct GetOptions : ClientOptions {
  std::string at;
};

/// The narrowest scope that has this entry of the map, or the state of the leaf.
const fs::SettingsRecord* origin_of(const std::vector<fs::SettingsRecord>& levels,
                                    const LeafEntry& entry) {
  const fs::SettingsRecord* origin = nullptr;
  for (const fs::SettingsRecord& level : levels)
    for (const LeafEntry& own : leaf_entries(level.settings()))
      if (own.path == entry.path) origin = &level;
  return origin;
}

void print_effective(const std::vector<fs::SettingsRecord>& levels) {
  std::vector<Level> chain;
  for (std::size_t i = 0; i < levels.size(); ++i)
    chain.push_back({static_cast<Scope>(i), &levels[i].settings()});
  Table table({"SETTING", "VALUE", "FROM"});
  const std::vector<LeafEntry> entries = leaf_entries(merge(chain));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    // A map is told by its entries, if there are any.
    if (i + 1 < entries.size() && entries[i + 1].path != entries[i + 1].leaf &&
        entries[i + 1].leaf == entries[i].path)
      continue;
    const fs::SettingsRecord* origin = origin_of(levels, entries[i]);
    table.add({printable(entries[i].path),
               shown(entries[i].value),
               {origin == nullptr ? "" : scope_name(origin->key()), Colour::kDim}});
  }
  if (table.empty()) std::cout << "nothing is set\n";
  table.print();
}

int get(const GetOptions& options) {
  const auto api = connect(options);
  if (!options.at.empty()) {
    audit::v1::GetSettingsAtRequest request;
    *request.mutable_key() = options.key();
    *request.mutable_at() = parse_point(options.at);
    const auto response = api->call<audit::v1::GetSettingsAtResponse>(request);
    if (options.output != Output::kTable)
      print_message(response, options.output);
    else
      print_effective({response.levels().begin(), response.levels().end()});
  } else if (options.output != Output::kTable) {
    fs::GetSettingsRequest request;
    *request.mutable_key() = options.key();
    print_message(api->call<fs::GetSettingsResponse>(request), options.output);
  } else {
    print_effective(read_levels(*api, options.key()));
  }
  return kSuccess;
}

}  // namespace

void add_get(CommandSet& commands) {
  const auto options = std::make_shared<GetOptions>();
  CLI::App& command = add_client_command(
      commands, "get", "Settings in effect at a scope, and where each comes from", options, get);
  add_scope_options(command, *options);
  command.add_option("--at", options->at, std::string("As it was then: ") + kPointForms)
      ->type_name("POINT");
}

}  // namespace writ::client
