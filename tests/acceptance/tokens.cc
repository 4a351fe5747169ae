#include "tests/acceptance/tokens.h"

#include "tests/acceptance/in_parallel.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

std::string run(std::vector<std::string> arguments) {
  const WritRun ended = run_writ(std::move(arguments));
  require(ended.status == 0, ended.err);
  return ended.out;
}

}  // namespace

Tokens::Tokens(const std::vector<std::string>& editors) {
  for (const std::string& name : editors) create(name, "editor", "*");
}

std::string Tokens::create(const std::string& name, const std::string& role,
                           const std::string& scope, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"token", "create", "--token-file", path(),    "--name",
                                        name,    "--role", role,           "--scope", scope};
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::string secret = run(std::move(arguments));
  if (!secret.empty()) secret.pop_back();  // the line's end
  return secrets_[name] = secret;
}

void Tokens::revoke(const std::string& name) {
  run({"token", "revoke", "--token-file", path(), name});
}

std::vector<std::string> Tokens::with(std::vector<std::string> arguments) const {
  arguments.insert(arguments.end(), {"--token-file", path()});
  return arguments;
}

}  // namespace writ::test
