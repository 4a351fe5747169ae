#include "events/private_postgres.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>
#include <memory>
#include <thread>

#include "events/connection.h"
#include "events/errors.h"
#include "events/postmaster.h"

namespace writ {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using std::chrono::steady_clock;

bool root() { return geteuid() == 0; }

/// A directory that only its owner may enter, like a clone under /root; everything made for it is
/// removed at the end.
struct Place {
  Place() {
    std::string name = (fs::temp_directory_path() / "writ_test_XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    base = fs::canonical(name);
    data = base / "data";
  }
  ~Place() {
    for (const fs::path& home : homes) {
      const std::optional<Postmaster> left = running_postmaster(home / "cluster");
      shut_down_postmaster(home / "cluster", seconds(20));
      if (left) fs::remove_all(left->socket_directory);
      fs::remove_all(home);
    }
    fs::remove_all(base);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  PrivatePostgresOptions options() {
    return {.data_directory = data,
            .progress = [this](std::string_view line) { lines.emplace_back(line); }};
  }
  std::unique_ptr<PrivatePostgres> start() { return start(options()); }
  std::unique_ptr<PrivatePostgres> start(PrivatePostgresOptions options) {
    lines.clear();
    auto postgres = std::make_unique<PrivatePostgres>(std::move(options));
    homes.push_back(home());
    return postgres;
  }
  /// The message of a start that must fail.
  std::string refusal(PrivatePostgresOptions options) {
    try {
      start(std::move(options));
    } catch (const StartError& e) {
      return e.what();
    }
    BOOST_FAIL("the start succeeded");
    return {};
  }
  std::string refusal() { return refusal(options()); }

  /// Where the note says the cluster is.
  fs::path home() const {
    std::ifstream note(data / "POSTGRES");
    for (std::string line; std::getline(note, line);)
      if (line.starts_with("cluster: ")) return data / line.substr(9);
    return {};
  }
  fs::path cluster() const { return home() / "cluster"; }

  fs::path base;
  fs::path data;
  std::vector<std::string> lines;
  std::vector<fs::path> homes;
};

std::string query(const std::string& connection, const std::string& sql) {
  Connection database(with_session_settings(connection));
  const auto result = database.exec(sql);
  return result.empty() ? "" : result[0][0].as<std::string>("");
}

/// A process that owns a private PostgreSQL until it is killed.
class Owner {
 public:
  explicit Owner(const fs::path& data) {
    int ready[2];
    BOOST_REQUIRE(pipe(ready) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      try {
        PrivatePostgres postgres({.data_directory = data});
        if (write(ready[1], "x", 1) == 1) pause();
      } catch (const std::exception&) {
      }
      _exit(1);
    }
    close(ready[1]);
    char byte = 0;
    const bool started = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    BOOST_REQUIRE(started);
  }
  ~Owner() { kill_hard(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  void kill_hard() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

/// Whether a process ends soon. One that only waits to be reaped has no command line any more.
bool gone(pid_t pid) {
  const auto deadline = steady_clock::now() + seconds(10);
  for (;;) {
    std::ifstream cmdline("/proc/" + std::to_string(pid) + "/cmdline");
    if (cmdline.peek() == std::ifstream::traits_type::eof()) return true;
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

fs::path socket_directory(const PrivatePostgres& postgres) {
  const std::string connection = postgres.admin_connection();
  return connection.substr(5, connection.find(' ') - 5);
}

BOOST_AUTO_TEST_SUITE(private_postgres)

BOOST_AUTO_TEST_CASE(is_made_at_the_first_start_and_kept_for_the_second) {
  Place place;
  auto postgres = place.start();
  BOOST_TEST(place.lines.size() == 1u);
  BOOST_TEST(place.lines.at(0).starts_with("preparing a private PostgreSQL in "));
  const std::string admin = postgres->admin_connection();
  const struct {
    const char* setting;
    const char* value;
  } rows[] = {
      {"server_encoding", "UTF8"}, {"lc_collate", "C"}, {"data_checksums", "on"},   {"fsync", "on"},
      {"listen_addresses", ""},    {"port", "5432"},    {"logging_collector", "on"}};
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.setting)
  BOOST_TEST(query(admin, std::string("SHOW ") + row.setting) == row.value);
  BOOST_TEST(query(admin, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == "t");
  query(admin, "CREATE TABLE public.kept (n int); INSERT INTO public.kept VALUES (42)");

  const pid_t server = running_postmaster(place.cluster())->pid;
  BOOST_TEST(getsid(server) != getsid(0));
  const fs::path sockets = socket_directory(*postgres);
  struct stat status = {};
  BOOST_TEST(stat(sockets.c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 07777) == 0700u);

  postgres->stop();
  postgres->stop();
  BOOST_TEST(gone(server));
  BOOST_TEST(!fs::exists(sockets));

  postgres.reset();
  postgres = place.start();
  BOOST_TEST(place.lines.empty());
  BOOST_TEST(query(postgres->admin_connection(), "SELECT n FROM public.kept") == "42");
}

BOOST_AUTO_TEST_CASE(belongs_to_one_process_at_a_time) {
  Place place;
  Owner owner(place.data);
  place.homes.push_back(place.home());
  BOOST_TEST(place.refusal() == "the data directory " + place.data.string() +
                                    " is in use by another writ, process " +
                                    std::to_string(owner.pid()));
  BOOST_TEST(running_postmaster(place.cluster()).has_value());
}

BOOST_AUTO_TEST_CASE(outlives_a_killed_owner_and_is_attached_to_by_the_next) {
  Place place;
  Owner owner(place.data);
  place.homes.push_back(place.home());
  const pid_t server = running_postmaster(place.cluster())->pid;
  owner.kill_hard();
  auto postgres = place.start();
  BOOST_TEST(running_postmaster(place.cluster())->pid == server);
  BOOST_TEST(query(postgres->admin_connection(), "SELECT current_database()") == "writ");
  postgres->stop();
  BOOST_TEST(gone(server));
}

BOOST_AUTO_TEST_CASE(recovers_when_the_server_itself_was_killed) {
  Place place;
  auto postgres = place.start();
  const fs::path sockets = socket_directory(*postgres);
  query(postgres->admin_connection(),
        "CREATE TABLE public.kept (n int); INSERT INTO public.kept VALUES (7)");
  // A session in the middle of a statement notices late that the server is gone, and holds its
  // memory.
  const Connection busy(with_session_settings(postgres->admin_connection()));
  const pid_t server = running_postmaster(place.cluster())->pid;
  kill(server, SIGKILL);
  BOOST_TEST(gone(server));
  postgres.reset();
  BOOST_TEST(fs::exists(place.cluster() / "postmaster.pid"));

  postgres = place.start();
  BOOST_TEST(running_postmaster(place.cluster())->pid != server);
  BOOST_TEST(query(postgres->admin_connection(), "SELECT n FROM public.kept") == "7");
  BOOST_TEST(!fs::exists(sockets));
}

BOOST_AUTO_TEST_CASE(is_not_fooled_by_another_process_with_the_number_of_a_dead_server) {
  Place place;
  place.start()->stop();
  std::ofstream(place.cluster() / "postmaster.pid") << getppid() << "\n"
                                                    << place.cluster().string() << "\n1\n5432\n"
                                                    << "/tmp\n\n0 0\nready   \n";
  auto postgres = place.start();
  BOOST_TEST(query(postgres->admin_connection(), "SELECT 1") == "1");
  BOOST_TEST(fs::exists("/tmp"));
}

BOOST_AUTO_TEST_CASE(replaces_a_server_whose_socket_was_cleaned_away) {
  Place place;
  Owner owner(place.data);
  place.homes.push_back(place.home());
  const Postmaster server = running_postmaster(place.cluster()).value();
  owner.kill_hard();
  fs::remove_all(server.socket_directory);
  auto postgres = place.start();
  BOOST_TEST(query(postgres->admin_connection(), "SELECT 1") == "1");
  BOOST_TEST(gone(server.pid));
}

BOOST_AUTO_TEST_CASE(repairs_a_first_start_that_was_cut_short) {
  Place place;
  auto options = place.options();
  const auto begun = steady_clock::now();
  options.cancelled = [&] { return steady_clock::now() - begun > std::chrono::milliseconds(400); };
  BOOST_TEST(place.refusal(std::move(options)) == "interrupted while starting");
  place.homes.push_back(place.home());
  BOOST_TEST(!fs::exists(place.cluster()));
  struct stat owner = {};
  BOOST_REQUIRE(stat(place.home().c_str(), &owner) == 0);
  for (const char* left : {"cluster.new.1", "cluster.new.1/base"}) {
    fs::create_directory(place.home() / left);
    BOOST_REQUIRE(chown((place.home() / left).c_str(), owner.st_uid, owner.st_gid) == 0);
  }

  auto postgres = place.start();
  BOOST_TEST(query(postgres->admin_connection(), "SELECT 1") == "1");
  for (const fs::directory_entry& entry : fs::directory_iterator(place.home()))
    BOOST_TEST(!entry.path().filename().string().starts_with("cluster.new"));
}

BOOST_AUTO_TEST_CASE(lives_at_any_path) {
  const struct {
    const char* name;
    std::string directory;
  } rows[] = {
      {"longer than a socket's address", std::string(60, 'a') + "/" + std::string(60, 'b')},
      {"with characters that mean something to a shell", "it's $HOME `id` \"quoted\" \\ here"},
  };
  for (const auto& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      Place place;
      place.data = place.base / row.directory;
      auto postgres = place.start();
      BOOST_TEST(query(postgres->admin_connection(), "SELECT 1") == "1");
      BOOST_TEST(postgres->app_connection().find("user=writ_app dbname=writ") != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_CASE(says_in_one_line_what_to_do_when_it_cannot_start) {
  Place place;
  auto options = place.options();
  options.search_path = {place.base};
  const std::string missing = place.refusal(std::move(options));
  place.homes.push_back(place.home());
  BOOST_TEST(missing ==
             "no PostgreSQL server found: apt-get install postgresql, or name a database with "
             "--database-url");

  place.start()->stop();
  std::ofstream(place.cluster() / "PG_VERSION") << "9\n";
  BOOST_TEST(place.refusal() ==
             "the data directory was made by PostgreSQL 9, which is not installed: apt-get install "
             "postgresql-9");

  std::ofstream(place.base / "file") << "";
  options = place.options();
  options.data_directory = place.base / "file";
  BOOST_TEST(place.refusal(std::move(options)).starts_with("cannot use the data directory "));

  options = place.options();
  options.data_directory = "/proc/none";
  BOOST_TEST(
      place.refusal(std::move(options)).starts_with("cannot use the data directory /proc/none: "));
}

BOOST_AUTO_TEST_CASE(passes_on_the_reason_the_server_gives) {
  Place place;
  place.start()->stop();
  fs::remove(place.cluster() / "global" / "pg_control");
  const std::string refusal = place.refusal();
  BOOST_TEST(refusal.starts_with("the private PostgreSQL in " + place.home().string() +
                                 " does not start: "));
  BOOST_TEST(refusal.find("pg_control") != std::string::npos);
  BOOST_TEST(refusal.find('\n') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(moves_with_its_data_directory_or_says_that_it_cannot) {
  Place place;
  place.start()->stop();
  const fs::path moved = place.base / "moved";
  fs::rename(place.data, moved);
  place.data = moved;
  if (!root()) {
    BOOST_TEST(query(place.start()->admin_connection(), "SELECT 1") == "1");
    return;
  }
  const fs::path home = place.home();
  const std::string refusal = place.refusal();
  BOOST_TEST(refusal.starts_with("the database of " + moved.string() + " is in " + home.string()));
  BOOST_TEST(fs::exists(home / "cluster"));
}

BOOST_AUTO_TEST_CASE(starts_empty_in_a_new_data_directory_of_an_old_path) {
  if (!root()) {
    BOOST_TEST_MESSAGE("skipped: only root's clusters live outside of the data directory");
    return;
  }
  Place place;
  Owner owner(place.data);
  place.homes.push_back(place.home());
  const pid_t server = running_postmaster(place.cluster())->pid;
  owner.kill_hard();
  fs::remove_all(place.data);

  auto postgres = place.start();
  BOOST_TEST(gone(server));
  const std::string said = "kept the database of an earlier data directory of this path in ";
  BOOST_REQUIRE(place.lines.size() == 2u);
  BOOST_REQUIRE(place.lines[0].starts_with(said));
  place.homes.emplace_back(place.lines[0].substr(said.size()));
  BOOST_TEST(fs::exists(place.homes.back() / "cluster" / "PG_VERSION"));
  postgres.reset();

  fs::remove_all(place.home());
  BOOST_TEST(place.refusal().find("which is gone; to start with an empty log instead, remove ") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
