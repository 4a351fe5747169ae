#include "tools/command.h"

#include <CLI/CLI.hpp>

namespace writ {

CLI::App& CommandSet::add(const std::string& name, const std::string& about, Action action) {
  CLI::App* command = program_.add_subcommand(name, about);
  commands_.emplace_back(command, std::move(action));
  return *command;
}

Action CommandSet::chosen() const {
  for (const auto& [command, action] : commands_)
    if (command->parsed()) return action;
  return {};
}

}  // namespace writ
