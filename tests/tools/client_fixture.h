#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/local_postgres.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

/// A Writ that serves from an empty database, and its own command line.
struct ClientFixture {
  ClientFixture();

  /// Runs `writ` with these arguments against the server. `input` is its standard input; when it is
  /// empty there is none.
  WritRun run(const Arguments& arguments, Environment environment = {},
              const std::string& input = "") const;
  /// The same, failing the test unless it ends with 0. Answers its standard output.
  std::string ok(const Arguments& arguments) const;
  /// What `GetSettings` answers of the scope, as JSON.
  std::string effective(const std::string& domain = "", const std::string& project = "");
  /// The position of the newest event.
  long head();

  /// Writes an executable script into the test's directory; answers its path.
  std::string script(const std::string& name, const std::string& text) const;
  std::string file(const std::string& name, const std::string& text) const;
  /// The files in the test's own directory for temporary ones.
  std::vector<std::string> kept() const;

  const TestDatabase database;
  WritProcess writ;
  ApiClient client;
  const TemporaryDirectory directory;
  std::string url;
};

std::string contents_of(const std::string& file);

}  // namespace writ::test
