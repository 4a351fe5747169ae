#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "projections/settings.h"
#include "schema/scope.h"
#include "tools/client/change_filter.h"
#include "tools/client/commands.h"
#include "tools/client/point.h"
#include "tools/client/print.h"
#include "tools/client/printable.h"
#include "tools/exit_codes.h"
#include "tools/option_checks.h"

namespace writ::client {
namespace {

constexpr std::uint64_t kLargestPage = 500;

struct LogOptions : FilterOptions {
  std::string since, until;
  std::uint64_t limit = 50;
  bool oldest_first = false;
};

int log(const LogOptions& options) {
  audit::v1::ListChangesRequest request;
  *request.mutable_filter() = change_filter(options);
  if (!options.since.empty())
    *request.mutable_filter()->mutable_since() = parse_time(options.since);
  if (!options.until.empty())
    *request.mutable_filter()->mutable_until() = parse_time(options.until);
  request.set_oldest_first(options.oldest_first);
  const auto api = connect(options);
  ChangeTable table;
  std::uint64_t shown = 0;
  do {
    const std::uint64_t left = options.limit == 0 ? kLargestPage : options.limit - shown;
    request.set_page_size(static_cast<std::uint32_t>(std::min(left, kLargestPage)));
    const auto page = api->call<audit::v1::ListChangesResponse>(request);
    for (const auto& change : page.changes()) {
      if (options.output == Output::kTable)
        table.add(change);
      else
        print_message(change, options.output, shown == 0);
      ++shown;
    }
    table.print();
    request.set_cursor(page.next_cursor());
  } while (!request.cursor().empty() && (options.limit == 0 || shown < options.limit) && std::cout);
  if (options.output != Output::kTable) return kSuccess;
  if (shown == 0) std::cout << "no changes\n";
  if (!request.cursor().empty() && shown == options.limit)
    std::cerr << "writ: there may be more: --limit 0 shows all\n";
  return kSuccess;
}

struct ShowOptions : ClientOptions {
  std::string position;
};

std::string hex(const std::string& bytes) {
  std::string out;
  for (const unsigned char c : bytes) {
    out += "0123456789abcdef"[c >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

void print_event(const audit::v1::GetEventResponse& event) {
  const auto row = [&](const char* name, const std::string& value) {
    if (!value.empty()) std::cout << painted(name, Colour::kDim) << printable(value) << "\n";
  };
  row("position    ", std::to_string(event.position()));
  row("time        ", time_text(event.time()));
  row("stream      ", event.stream());
  row("version     ", std::to_string(event.version()));
  row("type        ", event.type());
  row("actor       ", event.actor());
  row("reason      ", event.reason());
  row("request     ", event.request_id());
  row("command     ", event.command_id());
  row("hash        ", hex(event.leaf_hash()));
  if (!event.has_payload()) row("payload     ", "(erased)");
}

/// What the event changed. Who may read the history of its record alone has to name that.
void print_leaves(Api& api, const audit::v1::GetEventResponse& event) {
  audit::v1::ListChangesRequest request;
  request.mutable_filter()->set_from_position(event.position());
  request.mutable_filter()->set_to_position(event.position());
  // Events about the log itself are of no record.
  if (event.stream().starts_with(kSettingsStreamPrefix))
    *request.mutable_filter()->mutable_key() =
        settings_key(parse_storage_key(event.stream().substr(kSettingsStreamPrefix.size())), "");
  const auto page = api.call<audit::v1::ListChangesResponse>(request);
  for (const auto& change : page.changes()) {
    std::cout << "\n";
    print_changes({change.leaves().begin(), change.leaves().end()});
    for (const auto& [name, value] : change.detail())
      std::cout << painted(printable(name) + ": " + printable(value), Colour::kDim) << "\n";
    if (change.erased() && event.has_payload())
      std::cout << painted(
                       "(what it changed is not known: the content of the version before was "
                       "erased)",
                       Colour::kDim)
                << "\n";
  }
}

int show(const ShowOptions& options) {
  audit::v1::GetEventRequest request;
  request.set_position(parse_position(options.position));
  const auto api = connect(options);
  const auto event = api->call<audit::v1::GetEventResponse>(request);
  if (options.output != Output::kTable) {
    print_message(event, options.output);
    return kSuccess;
  }
  print_event(event);
  print_leaves(*api, event);
  return kSuccess;
}

}  // namespace

void add_log(CommandSet& commands) {
  const auto options = std::make_shared<LogOptions>();
  CLI::App& command =
      add_client_command(commands, "log", "Accepted changes, newest first", options, log);
  add_filter_options(command, *options);
  command.add_option("--since", options->since, std::string("Only from then on: ") + kTimeForms)
      ->type_name("TIME");
  command.add_option("--until", options->until, "Only before then")->type_name("TIME");
  command.add_option("--limit", options->limit, "At most so many; 0 is all")
      ->type_name("COUNT")
      ->check(must_be_number(0))
      ->capture_default_str();
  command.add_flag("--oldest-first", options->oldest_first, "The other way round");
  command.footer("With --output json each change is a line.");

  const auto show_options = std::make_shared<ShowOptions>();
  CLI::App& show_command =
      add_client_command(commands, "show", "One event of the log, whole", show_options, show);
  show_command
      .add_option("position", show_options->position, "Its position, as `writ log` shows it")
      ->type_name("POSITION")
      ->required();
}

}  // namespace writ::client
