#include "events/connection.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "events/sha256.h"
#include "tests/support/postgres_proxy.h"
#include "tests/support/test_database.h"

namespace writ {
namespace {

std::string setting(Connection& connection, const std::string& name) {
  return connection.exec("SELECT current_setting('" + name + "')")[0][0].c_str();
}

/// For a URL: a path or any other text as one query value.
std::string percent_encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += '%';
    out += hex(std::string_view(&c, 1));
  }
  return out;
}

std::string url_of(const TestDatabase& database, const std::string& more) {
  auto server = test_server();
  std::string url = "postgresql:///" + database.name() + "?user=" + percent_encoded(server["user"]);
  for (const char* keyword : {"host", "port", "password"})
    if (!server[keyword].empty())
      url += std::string("&") + keyword + "=" + percent_encoded(server[keyword]);
  return url + more;
}

struct Settings {
  const char* name;
  const char* value;
};
const Settings kSettings[] = {
    {"synchronous_commit", "on"},
    {"default_transaction_isolation", "read committed"},
    {"idle_in_transaction_session_timeout", "10s"},
    {"statement_timeout", "30s"},
    {"lock_timeout", "10s"},
    {"TimeZone", "UTC"},
    {"client_encoding", "UTF8"},
    {"search_path", "writ"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(connection_tests)

BOOST_AUTO_TEST_CASE(session_settings_are_in_force_whatever_the_form_and_the_users_own) {
  const TestDatabase database = TestDatabase::empty();
  const std::string hostile =
      "-c synchronous_commit=off -c statement_timeout=1h -c search_path=public,other";
  struct Row {
    const char* name;
    std::string conninfo;
  };
  const Row rows[] = {
      {"keywords", database.conninfo()},
      {"keywords with other options", database.conninfo({{"options", hostile}})},
      {"keywords with another encoding", database.conninfo({{"client_encoding", "LATIN1"}})},
      {"URL", url_of(database, "")},
      {"URL with other options", url_of(database, "&options=" + percent_encoded(hostile))},
      {"URL with another encoding", url_of(database, "&client_encoding=LATIN1")},
  };
  for (const Row& row : rows) {
    Connection connection(with_session_settings(row.conninfo));
    for (const auto& [name, value] : kSettings) BOOST_TEST_CONTEXT(row.name << ": " << name) {
        BOOST_CHECK_EQUAL(setting(connection, name), value);
      }
  }
}

BOOST_AUTO_TEST_CASE(session_settings_are_in_force_whatever_the_environment_says) {
  const TestDatabase database = TestDatabase::empty();
  for (const auto& [name, value] :
       {Settings{"PGCLIENTENCODING", "LATIN1"}, Settings{"PGOPTIONS", "-c search_path=public"}})
    setenv(name, value, 1);
  Connection connection(with_session_settings(database.conninfo()));
  for (const char* name : {"PGCLIENTENCODING", "PGOPTIONS"}) unsetenv(name);
  for (const auto& [name, value] : kSettings) BOOST_TEST_CONTEXT(name) {
      BOOST_CHECK_EQUAL(setting(connection, name), value);
    }
}

BOOST_AUTO_TEST_CASE(the_users_own_options_are_kept) {
  const TestDatabase database = TestDatabase::empty();
  Connection connection(with_session_settings(database.conninfo(
      {{"options", "-c work_mem=7MB -c seq_page_cost=3"}, {"application_name", "it's\\mine"}})));
  BOOST_CHECK_EQUAL(setting(connection, "work_mem"), "7MB");
  BOOST_CHECK_EQUAL(setting(connection, "seq_page_cost"), "3");
  BOOST_CHECK_EQUAL(setting(connection, "application_name"), "it's\\mine");
  Connection unnamed(with_session_settings(database.conninfo()));
  BOOST_CHECK_EQUAL(setting(unnamed, "application_name"), "writ");
}

BOOST_AUTO_TEST_CASE(settings_may_be_added_twice) {
  const TestDatabase database = TestDatabase::empty();
  Connection connection(with_session_settings(database.owner()));
  for (const auto& [name, value] : kSettings) BOOST_CHECK_EQUAL(setting(connection, name), value);
}

BOOST_AUTO_TEST_CASE(a_malformed_database_url_is_told_in_one_line) {
  for (const char* text :
       {"nonsense", "host", "postgresql://[::1/x", "colour=blue", "host='unterminated",
        "postgresql://h/d?colour=blue", "postgresql://h/%zz"}) {
    BOOST_TEST_CONTEXT(text) {
      BOOST_CHECK_EXCEPTION(with_session_settings(text), StartError, [](const StartError& e) {
        const std::string what = e.what();
        return what.starts_with("the database URL is malformed: ") &&
               what.find('\n') == std::string::npos;
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_there_is_a_lost_connection) {
  const TestDatabase database = TestDatabase::empty();
  for (const std::string& conninfo : {database.conninfo({{"host", "/nowhere"}}),
                                      database.conninfo({{"dbname", "no such database"}}),
                                      database.conninfo({{"user", "no_such_role"}})})
    BOOST_CHECK_EXCEPTION(Connection{with_session_settings(conninfo)}, ConnectionLost,
                          [](const ConnectionLost& e) {
                            const std::string what = e.what();
                            return !what.empty() && what.find('\n') == std::string::npos;
                          });
}

BOOST_AUTO_TEST_CASE(errors_say_whether_the_connection_lives) {
  const TestDatabase database = TestDatabase::empty();
  Connection other(database.owner());
  struct Row {
    const char* name;
    const char* sql;
    const char* sqlstate;  ///< "" when the connection is lost.
  };
  const Row rows[] = {
      {"syntax error", "SELEC 1", "42601"},
      {"no such table", "SELECT * FROM nowhere", "42P01"},
      {"division by zero", "SELECT 1 / 0", "22012"},
      {"not null", "CREATE TEMP TABLE n (a int NOT NULL); INSERT INTO n VALUES (NULL)", "23502"},
      {"cancelled", "SET statement_timeout = 10; SELECT pg_sleep(10)", "57014"},
      {"terminated", "SELECT pg_terminate_backend(pg_backend_pid())", ""},
      {"idle in transaction for too long",
       "SET idle_in_transaction_session_timeout = 1; BEGIN; SELECT pg_sleep(0)", ""},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      Connection connection(database.owner());
      if (*row.sqlstate != '\0') {
        BOOST_CHECK_EXCEPTION(connection.exec(row.sql), StorageError,
                              [&](const StorageError& e) { return e.sqlstate() == row.sqlstate; });
        BOOST_CHECK(connection.usable());
        BOOST_CHECK_EQUAL(connection.exec("SELECT 1")[0][0].as<int>(), 1);
        continue;
      }
      BOOST_CHECK_THROW(
          {
            const int pid = connection.exec("SELECT pg_backend_pid()")[0][0].as<int>();
            connection.exec(row.sql);
            while (!other.exec("SELECT 1 FROM pg_stat_activity WHERE pid = " + std::to_string(pid))
                        .empty()) {
            }
            connection.exec("SELECT 1");
          },
          ConnectionLost);
      BOOST_CHECK(!connection.usable());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_lost_connection_never_comes_back_by_itself) {
  const TestDatabase database = TestDatabase::empty();
  PostgresProxy proxy;
  Connection connection(
      with_session_settings(database.conninfo({{"host", proxy.host()}, {"port", "5432"}})));
  connection.prepare("one", "SELECT 1");
  BOOST_CHECK_EQUAL(connection.exec_prepared("one")[0][0].as<int>(), 1);
  proxy.arm({{PostgresProxy::Cut::When::kBeforeServer, "", 1, false}});
  BOOST_CHECK_THROW(connection.exec_prepared("one"), ConnectionLost);
  BOOST_CHECK_THROW(connection.exec_prepared("one"), ConnectionLost);
  BOOST_CHECK_THROW(connection.exec("SELECT 1"), ConnectionLost);
  BOOST_CHECK_THROW(connection.exec_params("SELECT $1", {"a"}), ConnectionLost);
  BOOST_CHECK_EQUAL(proxy.connections(), 1u);
}

BOOST_AUTO_TEST_CASE(parameters_are_texts_as_they_are) {
  const TestDatabase database = TestDatabase::empty();
  Connection connection(database.owner());
  const pqxx::result rows = connection.exec_params("SELECT $1::text, $2::text", {"'; --", ""});
  BOOST_CHECK_EQUAL(rows[0][0].as<std::string>(), "'; --");
  BOOST_CHECK_EQUAL(rows[0][1].as<std::string>(), "");
  BOOST_CHECK(!rows[0][1].is_null());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
