#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli_fwd.h"

namespace writ {

/// What one command does once the command line is read; answers the exit code. Owns its options.
using Action = std::function<int()>;

/// The commands that a program has.
class CommandSet {
 public:
  explicit CommandSet(CLI::App& program) : program_(program) {}

  /// Adds a command. Its options and notes go to what this answers; `action` is what it does.
  CLI::App& add(const std::string& name, const std::string& about, Action action);

  /// The action of the command that was parsed; empty when it is none of these.
  Action chosen() const;

  const CLI::App& program() const { return program_; }

 private:
  CLI::App& program_;
  std::vector<std::pair<CLI::App*, Action>> commands_;
};

}  // namespace writ
