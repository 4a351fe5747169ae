#include "events/private_postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "events/connection.h"
#include "events/errors.h"
#include "events/postmaster.h"

namespace writ {
namespace {

namespace fs = std::filesystem;

constexpr char kSuperuser[] = "writ_admin";
constexpr char kDatabase[] = "writ";
constexpr char kStartLog[] = "start.log";
constexpr std::chrono::seconds kStopTimeout{30};
constexpr std::chrono::seconds kOrphansTimeout{15};
constexpr std::chrono::milliseconds kPoll{20};
constexpr std::chrono::milliseconds kOrphansPoll{200};

// Between one start of a server that does not stay and the next.
constexpr std::chrono::milliseconds kShortestPause{250};
constexpr std::chrono::milliseconds kLongestPause{8'000};
constexpr std::chrono::seconds kStays{30};
// After the first start, when the migrations are done.
constexpr std::chrono::milliseconds kWriteOutAfter{1'000};

// Small and durable. Logs go to cluster/log, one file a weekday, each overwritten a week later;
// statements and the values in them stay out of it. All of it is on the command line, so that an
// older cluster gets today's settings.
constexpr const char* kServerSettings[] = {
    "listen_addresses=",
    "port=5432",
    "unix_socket_permissions=0700",
    "cluster_name=writ",
    "max_connections=100",
    "shared_buffers=64MB",
    "max_wal_size=512MB",
    "max_wal_senders=2",
    "max_replication_slots=2",
    "fsync=on",
    "full_page_writes=on",
    "synchronous_commit=on",
    "jit=off",
    "logging_collector=on",
    "log_directory=log",
    "log_filename=postgres-%a.log",
    "log_rotation_age=1d",
    "log_rotation_size=0",
    "log_truncate_on_rotation=on",
    "log_timezone=UTC",
    "log_checkpoints=off",
    "log_min_error_statement=panic",
    "log_parameter_max_length_on_error=0",
    "log_error_verbosity=terse",
};

std::optional<int> cluster_major(const ClusterHome& home) {
  if (!home.has_cluster()) return std::nullopt;
  std::ifstream file(home.cluster() / "PG_VERSION");
  int major = 0;
  if (!(file >> major)) throw StartError("cannot read " + (home.cluster() / "PG_VERSION").string());
  return major;
}

/// The last line that tells of a failure, without its prefixes; the last line when none does.
std::string failure_line(const std::string& text) {
  std::string found;
  std::string last;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
    for (const std::string_view mark : {"FATAL:  ", "PANIC:  ", "ERROR:  ", "error: "}) {
      const std::size_t at = line.find(mark);
      if (at != std::string::npos) found = line.substr(at + mark.size());
    }
  }
  return found.empty() ? last : found;
}

/// The end of a log, whose directory another user may write: a link is not followed.
std::string read_tail(const fs::path& path) {
  constexpr off_t kTail = 8192;
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return {};
  const off_t size = lseek(file, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(kTail), '\0');
  const ssize_t length = pread(file, text.data(), text.size(), size > kTail ? size - kTail : 0);
  close(file);
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

fs::path newest_file(const fs::path& directory) {
  fs::path newest;
  fs::file_time_type time = fs::file_time_type::min();
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const fs::file_time_type written = entry.last_write_time(error);
    if (!error && written >= time) {
      newest = entry.path();
      time = written;
    }
  }
  return newest;
}

}  // namespace

PrivatePostgres::PrivatePostgres(PrivatePostgresOptions options)
    : options_(std::move(options)),
      data_directory_(prepare_data_directory(options_.data_directory)),
      lock_(data_directory_),
      home_(locate_cluster_home(data_directory_,
                                [this](std::string_view line) { report(std::string(line)); })) {
  try {
    binaries_ =
        choose_postgres(installed_postgres(options_.search_path.empty() ? postgres_search_path()
                                                                        : options_.search_path),
                        cluster_major(home_));
    if (!home_.has_cluster()) make_cluster();
    start_or_attach();
    make_database();
    write_cluster_note(home_, admin_connection());
    // What is asked by now belongs to the thread that made us.
    options_.cancelled = [this] { return stopping_.raised(); };
    keeper_ = std::thread([this] { keep(); });
  } catch (...) {
    stop();
    remove_unused_home(home_);
    throw;
  }
}

PrivatePostgres::~PrivatePostgres() { stop(); }

void PrivatePostgres::begin_stop() noexcept {
  stopping_.raise();
  {
    const std::scoped_lock lock(mutex_);
    if (writing_out_ != nullptr) writing_out_->cut();
  }
  try {
    interrupt_postmaster(home_.cluster());
  } catch (const std::exception&) {
    // `stop` meets it again and says so.
  }
}

void PrivatePostgres::stop() noexcept {
  if (std::exchange(stopped_, true)) return;
  begin_stop();
  // Before we look for the server: it may be starting one.
  if (keeper_.joinable()) keeper_.join();
  try {
    if (shut_down_postmaster(home_.cluster(), kStopTimeout))
      remove_socket_directory(home_, socket_directory_);
    else
      report("the private PostgreSQL in " + home_.directory.string() +
             " does not stop; it is left running");
  } catch (const std::exception& e) {
    report("the private PostgreSQL in " + home_.directory.string() +
           " could not be stopped: " + e.what());
  }
}

std::string PrivatePostgres::connection(const std::string& role,
                                        const std::string& database) const {
  return "host=" + socket_directory_.string() + " port=5432 user=" + role + " dbname=" + database;
}

void PrivatePostgres::report(const std::string& line) const {
  if (options_.progress) options_.progress(line);
}

ChildResult PrivatePostgres::run(const std::string& program, std::vector<std::string> arguments,
                                 std::chrono::seconds timeout, bool dies_with_parent) const {
  arguments.insert(arguments.begin(), program);
  ChildResult result =
      run_child({std::move(arguments), home_.directory, home_.user, dies_with_parent}, timeout,
                options_.cancelled);
  if (result.cancelled) throw StartError("interrupted while starting");
  return result;
}

void PrivatePostgres::make_cluster() {
  report("preparing a private PostgreSQL in " + options_.data_directory.string() +
         " (first start, about 5 s) ...");
  // All paths are relative to the home: pg_ctl hands them to a shell, which must not find a quote
  // in them.
  remove_cluster_drafts(home_);
  const std::string draft = kClusterDraftPrefix + std::to_string(getpid());
  const ChildResult result = run(binaries_.directory / "initdb",
                                 {"-D", draft, "-E", "UTF8", "--locale=C", "--data-checksums", "-U",
                                  kSuperuser, "--auth-local=trust", "--auth-host=reject"},
                                 options_.startup_timeout, /*dies_with_parent=*/true);
  const std::string where =
      "cannot make a PostgreSQL cluster in " + home_.directory.string() + ": ";
  if (result.timed_out)
    throw StartError(where + "initdb took over " +
                     std::to_string(options_.startup_timeout.count()) + " s");
  if (!result.succeeded()) throw StartError(where + failure_line(result.output));
  if (rename((home_.directory / draft).c_str(), home_.cluster().c_str()) != 0)
    throw StartError(where + "cannot rename " + draft);
  const int directory = open(home_.directory.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
  const bool durable = directory >= 0 && fsync(directory) == 0;
  if (directory >= 0) close(directory);
  if (!durable) throw StartError(where + "cannot write the directory to disk");
}

void PrivatePostgres::start_or_attach() {
  const auto deadline = std::chrono::steady_clock::now() + options_.startup_timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    const std::optional<Postmaster> postmaster = running_postmaster(home_.cluster());
    if (!postmaster) {
      if (start()) return;
    } else if (postmaster->ready) {
      // Left by an owner that was killed, or started by hand. Unless somebody cleaned its socket
      // away, it serves on.
      if (is_reachable(*postmaster)) {
        socket_directory_ = postmaster->socket_directory;
        watch_over(postmaster->pid);
        return;
      }
      shut_down_postmaster(home_.cluster(), kStopTimeout);
    }
    // Starting up after a crash, or on its way down.
    if (options_.cancelled && options_.cancelled()) throw StartError("interrupted while starting");
    std::this_thread::sleep_for(kPoll);
  }
  throw StartError("the private PostgreSQL left running in " + home_.directory.string() +
                   " is not ready after " + std::to_string(options_.startup_timeout.count()) +
                   " s");
}

/// Whether a server is where it may be reached, and where everybody has been told that it is.
bool PrivatePostgres::is_reachable(const Postmaster& postmaster) const {
  return (socket_directory_.empty() || postmaster.socket_directory == socket_directory_) &&
         is_own_socket_directory(home_, postmaster.socket_directory) &&
         fs::exists(postmaster.socket_directory / ".s.PGSQL.5432");
}

/// False when some other server of this cluster was first, or this one is gone already.
bool PrivatePostgres::start() {
  if (const std::optional<Postmaster> stale = recorded_postmaster(home_.cluster())) {
    if (stale->socket_directory != socket_directory_)
      remove_socket_directory(home_, stale->socket_directory);
    // PostgreSQL would refuse to start when some other process has that number by now. Else the
    // file stays: by it, PostgreSQL finds sessions that are left.
    if (kill(stale->pid, 0) == 0 || errno != ESRCH)
      unlink((home_.cluster() / "postmaster.pid").c_str());
  }
  prepare_socket_directory();
  std::string settings = "-c unix_socket_directories=" + socket_directory_.string();
  for (const char* setting : kServerSettings) settings += std::string(" -c ") + setting;
  if (!start_once(settings)) return false;
  const std::optional<Postmaster> started = running_postmaster(home_.cluster());
  if (!started) return false;
  watch_over(started->pid);
  return true;
}

void PrivatePostgres::watch_over(pid_t server) {
  try {
    watch_ = std::make_unique<ProcessWatch>(server);
  } catch (const std::system_error& e) {
    throw StartError("the private PostgreSQL in " + home_.directory.string() +
                     " cannot be watched over: " + e.what());
  }
}

/// Until sessions of a server that was killed are gone. False when another server was first.
bool PrivatePostgres::start_once(const std::string& settings) {
  const std::string seconds = std::to_string(options_.startup_timeout.count());
  const auto begun = std::chrono::steady_clock::now();
  // To end pg_ctl before its server is on record would leave one that nobody knows of.
  const auto cancelled = [this] {
    return options_.cancelled && options_.cancelled() && running_postmaster(home_.cluster());
  };
  for (;;) {
    run("/bin/rm", {"-f", "--", kStartLog}, options_.startup_timeout);
    const ChildResult result =
        run_child({{binaries_.directory / "pg_ctl", "start", "-s", "-w", "-t", seconds, "-D",
                    "cluster", "-l", kStartLog, "-o", settings},
                   home_.directory,
                   home_.user},
                  options_.startup_timeout + std::chrono::seconds(10), cancelled);
    if (result.succeeded()) return true;
    if (options_.cancelled && options_.cancelled()) throw StartError("interrupted while starting");
    const auto took = std::chrono::steady_clock::now() - begun;
    if (took < options_.startup_timeout && running_postmaster(home_.cluster())) return false;
    const std::string why = why_not_started(result);
    // Sessions of a server that was killed notice it only when their statement ends.
    const bool orphans = why.find("shared memory block") != std::string::npos;
    if (!orphans || took > kOrphansTimeout)
      throw StartError("the private PostgreSQL in " + home_.directory.string() +
                       " does not start: " + why);
    std::this_thread::sleep_for(kOrphansPoll);
  }
}

void PrivatePostgres::prepare_socket_directory() {
  if (socket_directory_.empty())
    socket_directory_ = make_socket_directory(home_);
  else
    empty_socket_directory(home_, socket_directory_);
}

std::string PrivatePostgres::why_not_started(const ChildResult& result) const {
  if (running_postmaster(home_.cluster()))
    return "not ready after " + std::to_string(options_.startup_timeout.count()) +
           " s, see --startup-timeout";
  // Once its log collector runs, the server writes there.
  const std::string log = read_tail(home_.directory / kStartLog);
  const bool collected = log.find("logging collector") != std::string::npos;
  const std::string told = collected ? read_tail(newest_file(home_.cluster() / "log")) : log;
  return failure_line(told.empty() ? result.output : told);
}

void PrivatePostgres::make_database() {
  try {
    Connection connection(with_session_settings(this->connection(kSuperuser, "postgres")));
    const pqxx::result found =
        connection.exec("SELECT FROM pg_database WHERE datname = '" + std::string(kDatabase) + "'");
    if (!found.empty()) return;
    connection.exec("CREATE DATABASE " + std::string(kDatabase));
    new_database_ = true;
  } catch (const std::exception& e) {
    throw StartError("cannot reach the private PostgreSQL in " + home_.directory.string() + ": " +
                     e.what());
  }
}

/// Of a thread of its own: starts the server again whenever it ends before it is told to.
void PrivatePostgres::keep() {
  using Seen = ProcessWatch::Seen;
  if (new_database_) {
    if (watch_->wait(stopping_, kWriteOutAfter) == Seen::kNothing) write_out();
  }
  std::chrono::milliseconds pause{0};
  for (auto begun = std::chrono::steady_clock::now(); watch_->wait(stopping_) == Seen::kEnd;
       begun = std::chrono::steady_clock::now()) {
    const bool stayed = std::chrono::steady_clock::now() - begun > kStays;
    if (stayed) pause = std::chrono::milliseconds(0);
    report("warning: the private PostgreSQL has ended by itself; starting it again");
    if (stopping_.wait(pause) || !start_again()) return;
    report("the private PostgreSQL runs again");
    pause = std::clamp(2 * pause, kShortestPause, kLongestPause);
  }
}

/// False when told to stop before the server runs.
bool PrivatePostgres::start_again() {
  std::string told;
  for (std::chrono::milliseconds pause = kShortestPause;;
       pause = std::min(2 * pause, kLongestPause)) {
    try {
      start_or_attach();
      return true;
    } catch (const std::exception& e) {
      // What cannot be had now, a file or a process, may be had later.
      if (stopping_.raised()) return false;
      if (std::exchange(told, e.what()) != e.what())
        report(std::string("warning: ") + e.what() + "; trying again");
    }
    if (stopping_.wait(pause)) return false;
  }
}

/// A new database is hundreds of files that wait for a checkpoint. Without one now, it would be the
/// first stop that takes so long.
void PrivatePostgres::write_out() noexcept {
  try {
    Connection connection(with_session_settings(admin_connection()));
    {
      const std::scoped_lock lock(mutex_);
      if (stopping_.raised()) return;
      writing_out_ = &connection;
    }
    try {
      connection.exec("CHECKPOINT");
    } catch (const std::exception&) {
      // The one at the end does it all.
    }
    const std::scoped_lock lock(mutex_);
    writing_out_ = nullptr;
  } catch (const std::exception&) {
    // Whoever needs a connection will say so.
  }
}

}  // namespace writ
