#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/local_postgres.h"

namespace writ::test {

/// A file of tokens, made with `writ token`.
class Tokens {
 public:
  /// An editor of everything for each name.
  explicit Tokens(const std::vector<std::string>& editors = {});

  /// Makes a token; its secret, or "" with `--behind-proxy` among `more`.
  std::string create(const std::string& name, const std::string& role, const std::string& scope,
                     const std::vector<std::string>& more = {});
  void revoke(const std::string& name);

  std::string path() const { return (directory_.path() / "tokens.json").string(); }
  const std::string& secret(const std::string& name) const { return secrets_.at(name); }
  /// The header that says who it is.
  HttpFields as(const std::string& name) const { return bearer(secret(name)); }
  static HttpFields bearer(const std::string& secret) {
    return {{"Authorization", "Bearer " + secret}};
  }
  /// `arguments` of `writ serve` and the file.
  std::vector<std::string> with(std::vector<std::string> arguments) const;

 private:
  TemporaryDirectory directory_;
  std::map<std::string, std::string> secrets_;
};

}  // namespace writ::test
