#include "events/private_postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "events/connection.h"
#include "events/errors.h"
#include "events/postmaster.h"
#include "tests/support/wait.h"

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

/// When a file was made, in nanoseconds; 0 when it is not there.
long long born(const fs::path& file) {
  struct statx found = {};
  if (statx(AT_FDCWD, file.c_str(), 0, STATX_BTIME, &found) != 0) return 0;
  BOOST_REQUIRE((found.stx_mask & STATX_BTIME) != 0);
  return found.stx_btime.tv_sec * 1'000'000'000LL + found.stx_btime.tv_nsec;
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
  const auto begun = steady_clock::now();
  BOOST_TEST(place.refusal() == "the data directory " + place.data.string() +
                                    " is in use by another writ, process " +
                                    std::to_string(owner.pid()));
  BOOST_TEST((steady_clock::now() - begun < seconds(1)));
  BOOST_TEST(running_postmaster(place.cluster()).has_value());
}

/// A process that has what this one has open, as one between fork and exec does, until the pipe is
/// closed.
class Heir {
 public:
  Heir() {
    BOOST_REQUIRE(pipe(pipe_) == 0);
    pid_ = fork();
    if (pid_ != 0) return;
    close(pipe_[1]);
    char byte = 0;
    _exit(read(pipe_[0], &byte, 1) == 0 ? 0 : 1);
  }
  ~Heir() { end(); }
  Heir(const Heir&) = delete;
  Heir& operator=(const Heir&) = delete;
  void end() {
    if (pid_ <= 0) return;
    for (const int end : pipe_) close(end);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  int pipe_[2] = {};
  pid_t pid_ = 0;
};

BOOST_AUTO_TEST_CASE(waits_a_moment_for_what_a_killed_owner_has_forked) {
  Place place;
  prepare_data_directory(place.data);
  auto lock = std::make_unique<DataDirectoryLock>(place.data);
  Heir heir;
  lock.reset();
  const auto take = [&] { const DataDirectoryLock taken(place.data); };
  // Its owner, whom the lock names, lives.
  BOOST_CHECK_THROW(take(), DirectoryInUse);

  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  std::ofstream(place.data / "lock") << dead << "\n";
  auto begun = steady_clock::now();
  BOOST_CHECK_THROW(take(), DirectoryInUse);
  BOOST_TEST((steady_clock::now() - begun > seconds(1)));
  BOOST_TEST((steady_clock::now() - begun < seconds(20)));

  begun = steady_clock::now();
  std::thread soon([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    heir.end();
  });
  BOOST_CHECK_NO_THROW(take());
  soon.join();
  BOOST_TEST((steady_clock::now() - begun > std::chrono::milliseconds(250)));
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
  fs::path sockets = socket_directory(*postgres);
  query(postgres->admin_connection(),
        "CREATE TABLE public.kept (n int); INSERT INTO public.kept VALUES (7)");
  // A session in the middle of a statement notices late that the server is gone, and holds its
  // memory.
  postgres.reset();
  Owner owner(place.data);
  sockets = running_postmaster(place.cluster())->socket_directory;
  const Connection busy(
      with_session_settings("host=" + sockets.string() + " port=5432 user=writ_admin dbname=writ"));
  const pid_t server = running_postmaster(place.cluster())->pid;
  owner.kill_hard();
  kill(server, SIGKILL);
  BOOST_TEST(gone(server));
  BOOST_TEST(fs::exists(place.cluster() / "postmaster.pid"));

  postgres = place.start();
  BOOST_TEST(running_postmaster(place.cluster())->pid != server);
  BOOST_TEST(query(postgres->admin_connection(), "SELECT n FROM public.kept") == "7");
  BOOST_TEST(!fs::exists(sockets));
}

BOOST_AUTO_TEST_CASE(is_started_again_where_it_was_when_it_ends_by_itself) {
  Place place;
  auto postgres = place.start();
  const std::string admin = postgres->admin_connection();
  pid_t server = running_postmaster(place.cluster())->pid;
  const struct {
    const char* how;
    int signal;
    bool socket_gone;
  } rows[] = {{"killed", SIGKILL, false},
              {"stopped by somebody", SIGINT, false},
              {"killed, and its socket cleaned away", SIGKILL, true}};
  for (const auto& row : rows) {
    BOOST_TEST_CONTEXT(row.how) {
      if (row.socket_gone) fs::remove_all(socket_directory(*postgres));
      kill(server, row.signal);
      BOOST_TEST(gone(server));
      std::optional<Postmaster> next;
      BOOST_REQUIRE(wait_until([&] {
        next = running_postmaster(place.cluster());
        return next && next->pid != server && next->ready;
      }));
      server = next->pid;
      BOOST_TEST(query(admin, "SELECT 1") == "1");
    }
  }
  postgres->stop();
  BOOST_TEST(gone(server));
  BOOST_TEST(place.lines.at(1) ==
             "warning: the private PostgreSQL has ended by itself; starting it again");
}

// A cluster whose server does not stay must not cost all of the machine.
BOOST_AUTO_TEST_CASE(that_cannot_run_is_tried_again_with_pauses_and_told_of_once) {
  Place place;
  auto postgres = place.start();
  const fs::path control = place.cluster() / "global" / "pg_control";
  fs::rename(control, place.base / "pg_control");
  const pid_t server = running_postmaster(place.cluster())->pid;
  kill(server, SIGKILL);
  BOOST_TEST(gone(server));
  // Each try makes the file anew.
  long long last = 0;
  std::vector<steady_clock::time_point> seen;
  BOOST_REQUIRE(wait_until([&] {
    const long long time = born(place.home() / "start.log");
    if (time > last) {
      if (last != 0) seen.push_back(steady_clock::now());
      last = time;
    }
    return seen.size() == 5;
  }));
  BOOST_TEST((seen.at(4) - seen.at(3) > std::chrono::milliseconds(1500)));
  const fs::path back = place.base / "pg_control";
  struct stat owner = {};
  BOOST_REQUIRE(stat(place.cluster().c_str(), &owner) == 0);
  fs::copy_file(back, control);
  BOOST_REQUIRE(chown(control.c_str(), owner.st_uid, owner.st_gid) == 0);
  BOOST_TEST(wait_until([&] {
    const auto next = running_postmaster(place.cluster());
    return next && next->ready;
  }));
  postgres->stop();
  BOOST_TEST(place.lines.size() <= 5u);  // made, ended, why not, runs
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
  // Neither a home nor a note of one is left.
  BOOST_TEST(place.home() == "");
  BOOST_TEST(!fs::exists(place.data / "postgres"));

  // But after kill -9 they are.
  place.start().reset();
  const fs::path made = place.cluster();
  struct stat owner = {};
  BOOST_REQUIRE(stat(place.home().c_str(), &owner) == 0);
  fs::remove_all(made);
  for (const char* left : {"cluster.new.1", "cluster.new.1/base"}) {
    fs::create_directory(place.home() / left);
    BOOST_REQUIRE(chown((place.home() / left).c_str(), owner.st_uid, owner.st_gid) == 0);
  }

  auto postgres = place.start();
  BOOST_TEST(query(postgres->admin_connection(), "SELECT 1") == "1");
  for (const fs::directory_entry& entry : fs::directory_iterator(place.home()))
    BOOST_TEST(!entry.path().filename().string().starts_with("cluster.new"));
}

BOOST_AUTO_TEST_CASE(removes_homes_that_killed_first_starts_of_others_left_long_ago) {
  if (!root()) {
    BOOST_TEST_MESSAGE("skipped: only root's clusters live outside of the data directory");
    return;
  }
  Place place;
  place.start().reset();
  struct stat owner = {};
  BOOST_REQUIRE(stat(place.home().c_str(), &owner) == 0);
  const struct {
    const char* name;
    const char* inside;
    bool old;
    bool stays;
  } rows[] = {{"00000000deadbee0", "", true, false},
              {"00000000deadbee1", "cluster.new.7", true, false},
              {"00000000deadbee2", "", false, true},
              {"00000000deadbee3", "cluster", true, true},
              {"00000000deadbee4.old-20200101T000000Z", "", true, true}};
  const fs::path homes = place.home().parent_path();
  for (const auto& row : rows) {
    for (const fs::path& made : {homes / row.name, homes / row.name / row.inside}) {
      fs::create_directory(made);
      BOOST_REQUIRE(chown(made.c_str(), owner.st_uid, owner.st_gid) == 0);
    }
    if (row.old)
      fs::last_write_time(homes / row.name,
                          fs::file_time_type::clock::now() - std::chrono::hours(2));
    if (row.stays) place.homes.push_back(homes / row.name);
  }
  place.start().reset();
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.name)
  BOOST_TEST(fs::exists(homes / row.name) == row.stays);
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
