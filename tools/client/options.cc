#include "tools/client/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

#include "tools/client/printable.h"
#include "tools/client/scope_name.h"
#include "tools/exit_codes.h"
#include "tools/option_checks.h"

namespace writ::client {
namespace {

int exit_code_of(const std::string& code) {
  static const std::map<std::string, int> codes = {
      {"invalid_argument", kExitInvalid},
      {"out_of_range", kExitInvalid},
      {"failed_precondition", kExitConflict},
      {"already_exists", kExitConflict},
      {"aborted", kExitConflict},
      {"not_found", kExitNotFound},
      {"permission_denied", kExitNotAllowed},
      {"unauthenticated", kExitNotAllowed},
      {"unavailable", kExitUnreachable},
      {"resource_exhausted", kExitUnreachable},
      {"deadline_exceeded", kExitUnreachable},
  };
  const auto found = codes.find(code);
  return found == codes.end() ? kFailure : found->second;
}

int report_refusal(const Refusal& refusal) {
  std::cerr << "writ: " << printable(refusal.message) << "\n";
  for (const std::string& violation : refusal.violations)
    if (violation != refusal.message) std::cerr << "writ: " << printable(violation) << "\n";
  if (refusal.code == "unauthenticated") std::cerr << "writ: WRIT_TOKEN is where the token goes\n";
  if (refusal.lacks_reason) std::cerr << "writ: -m TEXT gives the reason\n";
  // Without a change that won, it is no conflict that could end otherwise the next time.
  const bool lost = refusal.code != "failed_precondition" || refusal.conflict;
  const int code = lost ? exit_code_of(refusal.code) : kExitInvalid;
  if (code == kFailure) std::cerr << "writ: the server calls this " << refusal.code << "\n";
  return code;
}

}  // namespace

flyteidl2::settings::SettingsKey ClientOptions::key() const {
  flyteidl2::settings::SettingsKey key;
  key.set_domain(domain);
  key.set_project(project);
  return key;
}

std::string ClientOptions::scope() const { return scope_name(key()); }

void add_connection_options(CLI::App& command, ClientOptions& options) {
  command.footer("`writ --help` has examples and the exit codes.");
  command.add_option("--url", options.url, "The server")
      ->envname("WRIT_URL")
      ->type_name("URL")
      ->capture_default_str();
  command.add_option("-o,--output", options.output, "How to print: table, json or yaml")
      ->type_name("FORM")
      ->transform(must_name<Output>(
          {{"table", Output::kTable}, {"json", Output::kJson}, {"yaml", Output::kYaml}}))
      ->default_str("table");
}

void add_scope_options(CLI::App& command, ClientOptions& options) {
  CLI::Option* domain =
      command.add_option("-d,--domain", options.domain, "The domain; without it, the instance")
          ->type_name("DOMAIN");
  command.add_option("-p,--project", options.project, "The project of that domain")
      ->type_name("PROJECT")
      ->needs(domain);
}

void add_reason_option(CLI::App& command, ClientOptions& options) {
  command.add_option("-m,--reason", options.reason, "Why, for the history")->type_name("TEXT");
}

std::unique_ptr<Api> connect(const ClientOptions& options) {
  const char* token = std::getenv("WRIT_TOKEN");
  auto api = std::make_unique<Api>(Server{options.url, token == nullptr ? "" : token});
  api->set_reason(options.reason);
  return api;
}

int report(const std::function<int()>& command) {
  int code = kFailure;
  try {
    code = command();
  } catch (const UsageError& e) {
    std::cerr << "writ: " << e.what() << "\n";
    code = kUsageError;
  } catch (const Refused& e) {
    code = report_refusal(e.refusal());
  } catch (const Unreachable& e) {
    std::cerr << "writ: " << e.what() << "\n";
    code = kExitUnreachable;
  }
  std::cout.flush();
  // Somebody who reads `writ log | head` has had enough; a full disk is no success either.
  return std::cout || code != kSuccess ? code : kFailure;
}

}  // namespace writ::client
