#pragma once

#include <map>
#include <string>

namespace writ {

/// A database of one test's own on the server that WRIT_TEST_POSTGRES names (a connection string of
/// a superuser, e.g. `host=/tmp/pg user=postgres dbname=postgres`); dropped with the object.
class TestDatabase {
 public:
  /// UTF-8 and migrated, with roles: a clone of a template that the first test of these migrations
  /// makes. Throws std::runtime_error with what to do when WRIT_TEST_POSTGRES is unset.
  TestDatabase();
  ~TestDatabase();
  TestDatabase(TestDatabase&& other) noexcept;
  TestDatabase& operator=(TestDatabase&&) = delete;

  /// Without any schema of ours. `options` are those of CREATE DATABASE.
  static TestDatabase empty(const std::string& options = "TEMPLATE template0 ENCODING 'UTF8'");

  const std::string& name() const { return name_; }
  std::string owner() const;  ///< Conninfo of the superuser, with session settings.
  std::string app() const;    ///< Conninfo of `writ_app`, with session settings.

  /// Conninfo without session settings. `overrides` replace its keywords, e.g. `{"user",
  /// "writ_app"}`.
  std::string conninfo(const std::map<std::string, std::string>& overrides = {}) const;

 private:
  explicit TestDatabase(std::string name);
  std::string name_;
};

/// The keywords of WRIT_TEST_POSTGRES. Throws std::runtime_error when it is unset or malformed.
std::map<std::string, std::string> test_server();

}  // namespace writ
