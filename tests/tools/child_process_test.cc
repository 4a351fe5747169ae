#include "events/child_process.h"

#include <signal.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>

namespace writ {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

ChildResult shell(const std::string& script, milliseconds timeout = seconds(20),
                  const std::function<bool()>& cancelled = {}) {
  return run_child({.arguments = {"/bin/sh", "-c", script}}, timeout, cancelled);
}

BOOST_AUTO_TEST_SUITE(child_process)

BOOST_AUTO_TEST_CASE(tells_how_a_program_ended_and_what_it_said) {
  const struct {
    const char* name;
    const char* script;
    int exit_code;
    const char* output;
  } rows[] = {
      {"success", "echo fine", 0, "fine\n"},
      {"standard error too", "echo out; echo err >&2; exit 3", 3, "out\nerr\n"},
      {"ended by a signal", "kill -TERM $$", 128 + SIGTERM, ""},
      {"closes its output early", "exec >&- 2>&-; sleep 0.1; exit 4", 4, ""},
      {"leaves a grandchild that holds the pipe", "echo started; sleep 60 & exit 0", 0,
       "started\n"},
  };
  for (const auto& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      const auto start = steady_clock::now();
      const ChildResult result = shell(row.script);
      BOOST_TEST(result.exit_code == row.exit_code);
      BOOST_TEST(result.output == row.output);
      BOOST_TEST((steady_clock::now() - start < seconds(15)));
    }
  }
}

BOOST_AUTO_TEST_CASE(says_why_a_program_cannot_be_executed) {
  const ChildResult missing = run_child({.arguments = {"/nonexistent/program"}}, seconds(10));
  BOOST_TEST(missing.exit_code == 127);
  BOOST_TEST(missing.output == "cannot /nonexistent/program: No such file or directory\n");
  const ChildResult lost =
      run_child({.arguments = {"/bin/true"}, .directory = "/nonexistent"}, seconds(10));
  BOOST_TEST(lost.exit_code == 127);
  BOOST_TEST(lost.output == "cannot enter the working directory: No such file or directory\n");
}

BOOST_AUTO_TEST_CASE(kills_what_runs_too_long_with_its_children) {
  const auto start = steady_clock::now();
  const ChildResult result = shell("echo begun; sleep 30 | sleep 30", milliseconds(300));
  BOOST_TEST(result.timed_out);
  BOOST_TEST(!result.succeeded());
  BOOST_TEST(result.output == "begun\n");
  BOOST_TEST((steady_clock::now() - start < seconds(10)));
}

BOOST_AUTO_TEST_CASE(gives_up_when_cancelled) {
  int asked = 0;
  const ChildResult result = shell("sleep 30", seconds(20), [&] { return ++asked == 3; });
  BOOST_TEST(result.cancelled);
  BOOST_TEST(!result.timed_out);
}

BOOST_AUTO_TEST_CASE(keeps_a_bounded_part_of_the_output_and_drains_the_rest) {
  const ChildResult result = shell("head -c 1000000 /dev/zero | tr '\\0' x; exit 5");
  BOOST_TEST(result.exit_code == 5);
  BOOST_TEST(result.output == std::string(64 * 1024, 'x'));
}

BOOST_AUTO_TEST_CASE(gives_the_child_a_session_of_its_own_and_nothing_else_of_ours) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  setenv("PGDATA", "/elsewhere", 1);
  const int leaked = dup(STDOUT_FILENO);  // Without close-on-exec.
  const ChildResult result = shell(
      "echo pid $$ sid $(cut -d' ' -f6 /proc/$$/stat); env | sort; "
      "pwd;"
      "grep SigBlk /proc/self/status; ls /proc/$$/fd | tr '\\n' ' '; cat");
  close(leaked);
  unsetenv("PGDATA");
  sigprocmask(SIG_SETMASK, &before, nullptr);
  BOOST_TEST_MESSAGE(result.output);
  const std::size_t pid_at = result.output.find("pid ") + 4;
  const std::string pid = result.output.substr(pid_at, result.output.find(' ', pid_at) - pid_at);
  BOOST_TEST(result.output.find(" sid " + pid + "\n") != std::string::npos);
  BOOST_TEST(result.output.find("LC_ALL=C\n") != std::string::npos);
  BOOST_TEST(result.output.find("PGDATA") == std::string::npos);
  BOOST_TEST(result.output.find("SigBlk:\t0000000000000000\n") != std::string::npos);
  BOOST_TEST(result.output.ends_with("0 1 2 "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
