#include "tests/acceptance/local_postgres.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "events/connection.h"
#include "events/postgres_binaries.h"
#include "tests/support/wait.h"

namespace writ::test {

TemporaryDirectory::TemporaryDirectory() {
  std::string name = std::filesystem::temp_directory_path() / "writ_acceptance_XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), "mkdtemp");
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string postgres_program(const std::string& name) {
  return choose_postgres(installed_postgres(postgres_search_path()), std::nullopt).directory / name;
}

LocalPostgres::LocalPostgres() {
  if (geteuid() == 0) {
    const passwd* user = getpwnam("postgres");
    if (user == nullptr || chown(directory_.path().c_str(), user->pw_uid, user->pw_gid) != 0)
      throw std::runtime_error("cannot give " + directory_.path().string() + " to postgres");
  }
  run_to_end({.arguments = {postgres_program("initdb"), "-D", directory_.path() / "data", "-E",
                            "UTF8", "--locale=C", "-U", "postgres", "--auth=trust", "--no-sync",
                            "--no-instructions"},
              .without = {"PG"},
              .as_postgres = true,
              .directory = directory_.path()});
  start();
}

void LocalPostgres::start() {
  std::vector<std::string> arguments = {postgres_program("postgres"), "-D",
                                        directory_.path() / "data"};
  for (const std::string& setting :
       {std::string("listen_addresses="), "unix_socket_directories=" + directory_.path().string(),
        std::string("fsync=off"), std::string("shared_buffers=32MB"),
        std::string("max_connections=60")})
    arguments.insert(arguments.end(), {"-c", setting});
  server_ = std::make_unique<Child>(ChildOptions{.arguments = arguments,
                                                 .without = {"PG"},
                                                 .as_postgres = true,
                                                 .directory = directory_.path()});
  const bool ready = wait_until(
      [&] {
        if (!server_->running()) return true;
        try {
          const Connection probe(conninfo());
          return true;
        } catch (const StorageUnavailable&) {
          return false;
        }
      },
      std::chrono::seconds(60));
  if (!ready || !server_->running())
    throw std::runtime_error("PostgreSQL does not start: " + server_->standard_error());
}

void LocalPostgres::stop() {
  server_->signal(SIGINT);  // fast: sessions are ended
  if (!server_->wait(std::chrono::seconds(30)))
    throw std::runtime_error("PostgreSQL does not stop: " + server_->standard_error());
}

std::string LocalPostgres::conninfo(const std::string& database, const std::string& user) const {
  return "host=" + directory_.path().string() + " port=5432 user=" + user + " dbname=" + database;
}

}  // namespace writ::test
