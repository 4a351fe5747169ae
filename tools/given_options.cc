#include "tools/given_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace writ {
namespace {

constexpr char kEmpty[] =
    "the value is empty; leave it out if none is meant (is a variable of the shell not set?)";

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

bool has_assignment(const CLI::App& command, std::string_view name) {
  for (const CLI::Option* option : command.get_options())
    if (!is_flag(*option) && option->check_lname(std::string(name))) return true;
  const auto inner = command.get_subcommands([](const CLI::App*) { return true; });
  return std::ranges::any_of(inner,
                             [&](const CLI::App* one) { return has_assignment(*one, name); });
}

}  // namespace

void refuse_empty_values(CLI::App& program) {
  for (CLI::Option* option : program.get_options([](const CLI::Option*) { return true; })) {
    if (is_flag(*option))
      option->check(CLI::Validator(
          [](const std::string& text) {
            try {
              static_cast<void>(CLI::detail::to_flag_value(text));
              return std::string();
            } catch (const std::invalid_argument&) {
              return "\"" + text + "\" is neither true nor false";
            }
          },
          "", ""));
    else
      option->check(CLI::Validator(
          [](const std::string& text) { return std::string(text.empty() ? kEmpty : ""); }, "", ""));
  }
  for (CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    refuse_empty_values(*command);
}

std::string empty_assignment(const CLI::App& program, int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") break;
    if (!argument.starts_with("--") || argument.find('=') != argument.size() - 1) continue;
    const std::string_view option = argument.substr(0, argument.size() - 1);
    if (has_assignment(program, option.substr(2))) return std::string(option) + ": " + kEmpty;
  }
  return "";
}

bool on_command_line(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option(name);
  return std::ranges::find(command.parse_order(), option) != command.parse_order().end();
}

std::string with_origin(const CLI::App& program, const std::string& refusal) {
  for (const CLI::Option* option : program.get_options()) {
    const std::string name = option->get_name();
    const bool is_meant = refusal.starts_with(name + ":") || refusal.starts_with(name + " ");
    const std::string variable = option->get_envname();
    if (is_meant && !variable.empty() && option->count() > 0 && !on_command_line(program, name))
      return variable + " (" + name + ")" + refusal.substr(name.size());
  }
  for (const CLI::App* command : program.get_subcommands())
    if (std::string told = with_origin(*command, refusal); told != refusal) return told;
  return refusal;
}

}  // namespace writ
