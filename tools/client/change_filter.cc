#include "tools/client/change_filter.h"

#include <CLI/CLI.hpp>

#include "schema/leaf_diff.h"
#include "schema/quote.h"
#include "tools/client/print.h"
#include "tools/client/printable.h"
#include "tools/client/scope_name.h"
#include "tools/client/setting.h"

namespace writ::client {

void add_filter_options(CLI::App& command, FilterOptions& options) {
  add_scope_options(command, options);
  command.add_flag("--instance", options.instance, "Only changes of the instance itself")
      ->excludes("--domain");
  command.add_flag("--below", options.below, "Also what is below the domain")->needs("--domain");
  command
      .add_option("--path", options.path,
                  "Only changes of this setting, entry of a map or group, as task_resource.max")
      ->type_name("PATH");
  command.add_option("--actor", options.actor, "Only changes by this actor")->type_name("NAME");
}

std::string history_path(const std::string& path) {
  try {
    PathFilter known(path);
    return path;
  } catch (const std::invalid_argument& e) {
    // The other spelling of an entry; else the filter's words, which know groups but no entries.
    try {
      return find_place(path).path();
    } catch (const UsageError&) {
      const std::vector<std::string> near = near_paths(path);
      const bool is_entry = !near.empty() && find_setting(near.front()) == nullptr;
      throw UsageError(is_entry ? no_such_setting(path) : e.what());
    }
  }
}

audit::v1::ChangeFilter change_filter(const FilterOptions& options) {
  audit::v1::ChangeFilter filter;
  if (options.instance || !options.domain.empty()) *filter.mutable_key() = options.key();
  filter.set_below(options.below);
  filter.set_actor(options.actor);
  filter.set_path(history_path(options.path));
  return filter;
}

struct ChangeTable::Rows {
  Table table{{"POSITION", "TIME", "ACTOR", "SCOPE", "VERSION", "CHANGE"}};
};

ChangeTable::ChangeTable() : rows_(std::make_unique<Rows>()) {}
ChangeTable::~ChangeTable() = default;

void ChangeTable::add(const audit::v1::Change& change) {
  std::vector<Table::Cell> what;
  const std::vector<audit::v1::LeafChange> all(change.leaves().begin(), change.leaves().end());
  for (const auto& leaf : worth_telling(all)) what.push_back(change_cell(leaf));
  // Before the first version there is none.
  if (change.erased())
    what.push_back({change.version() == 1
                        ? "(the content was erased)"
                        : "(this event's content or that of the version before was erased)",
                    Colour::kDim});
  if (!change.has_key()) what.push_back(printable(change.type()));
  if (what.empty()) what.push_back({"(says what it said before)", Colour::kDim});
  for (const auto& [name, value] : change.detail())
    what.push_back({printable(name) + ": " + printable(value), Colour::kDim});
  if (!change.reason().empty()) what.push_back({quote(change.reason()), Colour::kBold});
  std::vector<Table::Cell> row = {
      std::to_string(change.position()), time_text(change.time()),
      printable(change.actor()),         change.has_key() ? scope_name(change.key()) : "(the log)",
      std::to_string(change.version()),  what.front()};
  for (std::size_t i = 0; i < what.size(); ++i) {
    if (i > 0) row = {"", "", "", "", "", what[i]};
    rows_->table.add(row);
  }
}

void ChangeTable::print() { rows_->table.print(); }

}  // namespace writ::client
