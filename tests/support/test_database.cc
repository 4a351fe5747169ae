#include "tests/support/test_database.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "events/connection.h"
#include "events/migrator.h"
#include "events/sha256.h"
#include "migrations/migrations.h"

namespace writ {
namespace {

// Cloning takes milliseconds, making the template a second: one process makes it, the others wait.
constexpr char kLock[] = "SET lock_timeout = '60s'; SELECT pg_advisory_lock(5391148022774)";

std::string joined(const std::map<std::string, std::string>& values) {
  std::string out;
  for (const auto& [keyword, value] : values) {
    out += keyword + "='";
    for (const char c : value) {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
    out += "' ";
  }
  return out;
}

std::string conninfo_of(const std::string& database) {
  auto values = test_server();
  values["dbname"] = database;
  return joined(values);
}

Connection maintenance() { return Connection(with_session_settings(joined(test_server()))); }

std::string template_name() {
  std::string all = kRolesSql;
  for (const Migration& migration : migrations())
    all += migration.file + '\0' + migration.sql + '\0';
  return "writ_template_" + hex(sha256(all)).substr(0, 16);
}

std::string ready_template() {
  static const std::string name = [] {
    const std::string wanted = template_name();
    Connection connection = maintenance();
    connection.exec(kLock);
    if (!connection.exec_params("SELECT 1 FROM pg_database WHERE datname = $1", {wanted}).empty())
      return wanted;
    // Renamed once it is whole, so that a run killed here leaves no half a template.
    const std::string half = wanted + "_half";
    connection.exec("DROP DATABASE IF EXISTS " + half + " WITH (FORCE)");
    connection.exec("CREATE DATABASE " + half + " TEMPLATE template0 ENCODING 'UTF8'");
    migrate(with_session_settings(conninfo_of(half)), true, [](const std::string&) {});
    connection.exec("ALTER DATABASE " + half + " RENAME TO " + wanted);
    return wanted;
  }();
  return name;
}

std::string fresh_name() { return "writ_test_" + hex(random_bytes(8)); }

}  // namespace

std::map<std::string, std::string> test_server() {
  const char* text = std::getenv("WRIT_TEST_POSTGRES");
  if (text == nullptr || *text == '\0')
    throw std::runtime_error(
        "WRIT_TEST_POSTGRES is not set: run the tests through tests/support/with_postgres, or give "
        "a superuser's "
        "connection string, e.g. WRIT_TEST_POSTGRES='host=/tmp/pg user=postgres dbname=postgres'");
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
      PQconninfoParse(text, &error), &PQconninfoFree);
  if (!parsed) {
    const std::string why = error != nullptr ? error : "out of memory";
    PQfreemem(error);
    throw std::runtime_error("WRIT_TEST_POSTGRES is malformed: " + why);
  }
  std::map<std::string, std::string> values;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option)
    if (option->val != nullptr) values[option->keyword] = option->val;
  return values;
}

TestDatabase::TestDatabase() : name_(fresh_name()) {
  const std::string from = ready_template();
  maintenance().exec("CREATE DATABASE " + name_ + " TEMPLATE " + from);
}

TestDatabase::TestDatabase(std::string name) : name_(std::move(name)) {}

TestDatabase TestDatabase::empty(const std::string& options) {
  std::string name = fresh_name();
  maintenance().exec("CREATE DATABASE " + name + " " + options);
  return TestDatabase(std::move(name));
}

TestDatabase::TestDatabase(TestDatabase&& other) noexcept : name_(std::move(other.name_)) {
  other.name_.clear();
}

TestDatabase::~TestDatabase() {
  if (name_.empty()) return;
  try {
    maintenance().exec("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  } catch (const std::exception& e) {
    std::cerr << "cannot drop the test database " << name_ << ": " << e.what() << '\n';
  }
}

std::string TestDatabase::conninfo(const std::map<std::string, std::string>& overrides) const {
  auto values = test_server();
  values["dbname"] = name_;
  for (const auto& [keyword, value] : overrides) values[keyword] = value;
  return joined(values);
}

std::string TestDatabase::owner() const { return with_session_settings(conninfo()); }
std::string TestDatabase::app() const {
  return with_session_settings(conninfo({{"user", "writ_app"}}));
}

}  // namespace writ
