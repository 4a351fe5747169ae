#include "tools/client/completion.h"

#include <CLI/CLI.hpp>

#include "tools/client/setting.h"

namespace writ::client {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

/// Words of what `command` takes: its own commands, `--long` and `-s` of each option.
std::string options_of(const CLI::App& command) {
  std::string words;
  for (const CLI::App* inner : commands_of(command)) words += " " + inner->get_name();
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words += " --" + name;
    for (const std::string& name : option->get_snames()) words += " -" + name;
  }
  return words.empty() ? words : words.substr(1);
}

std::string names_of(const std::vector<const CLI::App*>& commands) {
  std::string words;
  for (const CLI::App* command : commands)
    words += (words.empty() ? "" : " ") + command->get_name();
  return words;
}

/// Adds the options of this type, also of the commands below, to a case of the shell: `a|b|c`.
void add_options_with(const CLI::App& program, const std::string& type, std::string& words) {
  for (const CLI::Option* option : program.get_options())
    if (option->get_type_name() == type && !option->get_positional())
      for (const std::string& name : option->get_lnames())
        if (("|" + words + "|").find("|--" + name + "|") == std::string::npos)
          words += (words.empty() ? "--" : "|--") + name;
  for (const CLI::App* command : commands_of(program)) add_options_with(*command, type, words);
}

constexpr char kBash[] =
    R"(# bash completion of writ; put `source <(writ completion bash)` into ~/.bashrc
_writ() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  local inner= paths="@PATHS@"
  [[ $COMP_CWORD -gt 2 ]] && inner=${COMP_WORDS[2]}
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "@COMMANDS@ --help --version" -- "$current"))
    return
  fi
  # Behind an equals sign stands a value.
  [[ $current == = || $previous == = ]] && return
  case $previous in
    -o|--output) COMPREPLY=($(compgen -W "table json yaml" -- "$current")); return ;;
    --role) COMPREPLY=($(compgen -W "viewer auditor editor admin" -- "$current")); return ;;
    --path) COMPREPLY=($(compgen -W "$paths" -- "$current")); return ;;
    -f|@FILES@) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [[ $current != -* ]]; then
    case $command in
      set) COMPREPLY=($(compgen -S = -W "$paths" -- "$current")); compopt -o nospace 2> /dev/null; return ;;
      unset|inherit|blame) COMPREPLY=($(compgen -W "$paths" -- "$current")); return ;;
      rebuild) COMPREPLY=($(compgen -W "settings changed_paths" -- "$current")); return ;;
      verify) COMPREPLY=($(compgen -W "changed_paths" -- "$current")); return ;;
      completion) COMPREPLY=($(compgen -W "bash zsh" -- "$current")); return ;;
    esac
  fi
  case "$command $inner" in
@OPTIONS@  esac
}
complete -o default -F _writ writ
)";

constexpr char kBashOptions[] = R"(    @NAME@*) COMPREPLY=($(compgen -W "@WORDS@" -- "$current")) ;;
)";

constexpr char kZsh[] = R"(#compdef writ
# zsh completion of writ; write it to a file _writ in a folder of $fpath
_writ() {
  local -a paths=(@PATHS@)
  local inner=
  (( CURRENT > 3 )) && inner=$words[3]
  if (( CURRENT == 2 )); then
    compadd -- @COMMANDS@ --help --version
    return
  fi
  case $words[CURRENT-1] in
    -o|--output) compadd -- table json yaml; return ;;
    --role) compadd -- viewer auditor editor admin; return ;;
    --path) compadd -a paths; return ;;
    -f|@FILES@) _files; return ;;
  esac
  if [[ $words[CURRENT] != -* ]]; then
    case $words[2] in
      set) compadd -S = -a paths; return ;;
      unset|inherit|blame) compadd -a paths; return ;;
      rebuild) compadd -- settings changed_paths; return ;;
      verify) compadd -- changed_paths; return ;;
      completion) compadd -- bash zsh; return ;;
    esac
  fi
  case "$words[2] $inner" in
@OPTIONS@  esac
}
if [[ $funcstack[1] == _writ ]]; then _writ "$@"; else compdef _writ writ; fi
)";

constexpr char kZshOptions[] = R"(    @NAME@*) compadd -- @WORDS@ ;;
)";

std::string filled(std::string text, const std::string& name, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
    text.replace(at, name.size(), value);
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& program, const std::string& shell) {
  const bool bash = shell == "bash";
  std::string paths, options, files;
  for (const Setting& setting : all_settings()) paths += (paths.empty() ? "" : " ") + setting.path;
  const auto add = [&](const std::string& pattern, const CLI::App& command) {
    const std::string line = filled(bash ? kBashOptions : kZshOptions, "@NAME@", pattern);
    options += filled(line, "@WORDS@", options_of(command));
  };
  const auto commands = commands_of(program);
  for (const CLI::App* command : commands) {
    const std::string name = "\"" + command->get_name() + " ";
    // The first that fits holds, so the more particular ones come first.
    for (const CLI::App* inner : commands_of(*command))
      add(name + inner->get_name() + "\"", *inner);
    add(name + "\"", *command);
  }
  for (const char* type : {"FILE", "DIR"}) add_options_with(program, type, files);
  std::string script = filled(bash ? kBash : kZsh, "@PATHS@", paths);
  script = filled(script, "@COMMANDS@", names_of(commands));
  script = filled(script, "@FILES@", files);
  return filled(script, "@OPTIONS@", options);
}

}  // namespace writ::client
