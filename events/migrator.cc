#include "events/migrator.h"

#include "events/connection.h"
#include "migrations/migrations.h"

namespace writ {
namespace {

// Any number that no other program's migrations are likely to lock.
constexpr char kLock[] = "SELECT pg_advisory_lock(7312905548813271)";
constexpr int kOldestPostgres = 150000;

void check_server(Connection& connection) {
  const pqxx::result rows = connection.exec(
      "SELECT current_setting('server_version_num')::int, current_setting('server_version'),"
      " pg_encoding_to_char(encoding), datname FROM pg_database WHERE datname = "
      "current_database()");
  if (rows[0][0].as<int>() < kOldestPostgres)
    throw StartError(std::string("PostgreSQL 15 or newer is needed; this server is ") +
                     rows[0][1].c_str());
  if (rows[0][2].as<std::string>() != "UTF8")
    throw StartError(std::string("the database \"") + rows[0][3].c_str() + "\" has the encoding " +
                     rows[0][2].c_str() +
                     "; it must be UTF8 (create it with ENCODING 'UTF8' TEMPLATE template0)");
}

/// 0 when there is no schema yet. Throws StartError when it asks for a newer program.
int schema_version(Connection& connection) {
  if (connection.exec("SELECT to_regclass('writ.schema_info')")[0][0].is_null()) return 0;
  const pqxx::result rows = connection.exec("SELECT version, min_program FROM writ.schema_info");
  if (rows.empty()) return 0;
  if (const int needed = rows[0][1].as<int>(); needed > kProgramNumber)
    throw StartError("the database's schema asks for a newer program: number " +
                     std::to_string(needed) + " or later, this one is number " +
                     std::to_string(kProgramNumber));
  return rows[0][0].as<int>();
}

/// One line for the operator about a statement that the database refused.
StartError refused(const std::string& what, const StorageError& error) {
  constexpr char kInsufficientPrivilege[] = "42501";
  if (error.sqlstate() == kInsufficientPrivilege)
    return StartError("this database role may not " + what +
                      "; give a --migrate-url whose role owns the schema (" + error.what() + ")");
  return StartError("cannot " + what + ": " + error.what());
}

void apply(Connection& connection, const Migration& migration, int version) {
  try {
    // `min_program` is left to the steps that raise it.
    connection.exec(
        "BEGIN; CREATE SCHEMA IF NOT EXISTS writ; CREATE SCHEMA IF NOT EXISTS writ_build;" +
        migration.sql + "; INSERT INTO schema_info (version, min_program) VALUES (" +
        std::to_string(version) +
        ", 1) ON CONFLICT (only_row) DO UPDATE SET version = excluded.version; COMMIT");
  } catch (const StorageError& e) {
    throw refused("apply " + migration.file, e);
  }
}

bool may_manage_roles(Connection& connection) {
  return connection
      .exec("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user")[0][0]
      .as<bool>();
}

}  // namespace

MigrationResult migrate(const std::string& conninfo, bool manage_roles,
                        const std::function<void(const std::string&)>& progress) {
  Connection connection(conninfo);
  check_server(connection);
  connection.exec(
      "SET statement_timeout = 0; SET lock_timeout = '60s'; SET client_min_messages = warning");
  connection.exec(kLock);
  MigrationResult result;
  try {
    result.from = schema_version(connection);
  } catch (const StorageError& e) {
    throw refused("read the schema's version", e);
  }
  const auto& all = migrations();
  for (result.to = result.from; result.to < static_cast<int>(all.size()); ++result.to) {
    const Migration& next = all[static_cast<std::size_t>(result.to)];
    progress("applying migration " + next.file);
    apply(connection, next, result.to + 1);
  }
  if (manage_roles && may_manage_roles(connection))
    connection.exec(std::string("BEGIN;") + kRolesSql + "; COMMIT");
  return result;
}

bool log_is_protected(const std::string& conninfo) {
  return Connection(conninfo)
      .exec("SELECT NOT has_table_privilege('writ.events', 'UPDATE, DELETE, TRUNCATE')")[0][0]
      .as<bool>();
}

}  // namespace writ
