#include "tools/erase.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "tools/client/options.h"
#include "tools/exit_codes.h"
#include "tools/operate.h"
#include "tools/option_checks.h"
#include "writ/admin/v1/admin.pb.h"

namespace writ {
namespace {

struct EraseOptions {
  std::string url = "http://127.0.0.1:8080";
  std::uint64_t position = 0;
  std::string reason;
};

int erase(const EraseOptions& options) {
  admin::v1::EraseRequest request;
  request.set_position(options.position);
  request.set_reason(options.reason);
  const auto done = connect_as_operator(options.url)->call<admin::v1::EraseResponse>(request);
  std::cout << "erased: position " << options.position << ", recorded at position "
            << done.position() << std::endl;
  return kSuccess;
}

}  // namespace

void add_erase_command(CommandSet& commands) {
  const auto options = std::make_shared<EraseOptions>();
  CLI::App& command = commands.add("erase", "Erase the content of one event, for good", [options] {
    return client::report([&] { return erase(*options); });
  });
  command.add_option("--url", options->url, "The server")
      ->envname("WRIT_URL")
      ->type_name("URL")
      ->capture_default_str();
  command.add_option("--position", options->position, "Of the event")
      ->required()
      ->type_name("POSITION")
      ->check(must_be_number(1));
  command.add_option("-m,--reason", options->reason, "Why, for the history")
      ->required()
      ->type_name("TEXT");
  command.footer(
      "Who changed the record, when and why stays, and every proof holds on; what it said is "
      "gone.\n"
      "The paths it changed stay, with the names of a map's entries, for `writ log --path`.\n"
      "What a record says now is not erased: change it first. Backups made before still have it.");
}

}  // namespace writ
