#include "tools/options.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "events/sha256.h"
#include "events/signing_keys.h"
#include "tools/log_options.h"

namespace writ {
namespace {

using Environment = std::map<std::string, std::string>;

CommandLine parse(std::vector<const char*> arguments, const Environment& environment = {}) {
  arguments.insert(arguments.begin(), "writ");
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  CommandLine command = parse_command_line(static_cast<int>(arguments.size()), arguments.data());
  for (const auto& [name, value] : environment) unsetenv(name.c_str());
  return command;
}

ServeOptions serve_options(const std::vector<const char*>& arguments,
                           const Environment& environment = {}) {
  const CommandLine command = parse(arguments, environment);
  if (const Answer* answer = std::get_if<Answer>(&command)) BOOST_FAIL(answer->text);
  return std::get<ServeOptions>(command);
}

Answer answer(const std::vector<const char*>& arguments, const Environment& environment = {}) {
  const CommandLine command = parse(arguments, environment);
  BOOST_REQUIRE(std::holds_alternative<Answer>(command));
  return std::get<Answer>(command);
}

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(serve_has_defaults_that_work_alone) {
  const ServeOptions options = serve_options({"serve"});
  BOOST_TEST(options.listen.text() == "127.0.0.1:8080");
  BOOST_TEST(options.database.data_directory == ".writ");
  BOOST_TEST(options.database.database_url.empty());
  BOOST_TEST(options.database.migrate_url.empty());
  BOOST_TEST(options.database.startup_timeout.count() == 60);
  BOOST_TEST(!options.allow_anonymous);
  BOOST_TEST(!options.accept_clock);
  BOOST_TEST(options.read_connections == 8u);
  BOOST_TEST(options.batch_limit == 256u);
  BOOST_TEST(options.max_body_bytes == 4194304u);
  BOOST_TEST(options.body_memory_bytes == 268435456u);
  BOOST_TEST(options.allowed_origins.empty());
  BOOST_TEST(options.log_level == "info");
}

/// All of the options' values as one text.
std::string dump(const ServeOptions& o) {
  std::string origins;
  for (const std::string& origin : o.allowed_origins) origins += " " + origin;
  return o.listen.text() + " " + o.database.data_directory.string() + " " +
         o.database.database_url + " " + o.database.migrate_url + " " +
         std::to_string(o.database.startup_timeout.count()) + " " +
         std::to_string(o.allow_anonymous) + std::to_string(o.accept_clock) + " " +
         std::to_string(o.read_connections) + " " + std::to_string(o.batch_limit) + " " +
         std::to_string(o.max_body_bytes) + " " + std::to_string(o.body_memory_bytes) + " " +
         o.log_level + origins;
}

BOOST_AUTO_TEST_CASE(every_option_can_be_a_flag_or_an_environment_variable) {
  const std::string expected =
      "[::1]:9000 /d postgresql://a postgresql://m 7 11 3 4 2048 4096 debug http://a https://b:1";
  BOOST_TEST(dump(serve_options({"serve",
                                 "--listen",
                                 "[::1]:9000",
                                 "--data-dir",
                                 "/d",
                                 "--database-url",
                                 "postgresql://a",
                                 "--migrate-url",
                                 "postgresql://m",
                                 "--startup-timeout",
                                 "7",
                                 "--allow-anonymous",
                                 "--accept-clock",
                                 "--read-connections",
                                 "3",
                                 "--batch-limit",
                                 "4",
                                 "--max-body-bytes",
                                 "2048",
                                 "--body-memory-bytes",
                                 "4096",
                                 "--allow-origin",
                                 "http://a",
                                 "--allow-origin",
                                 "https://b:1",
                                 "--log-level",
                                 "debug"})) == expected);
  BOOST_TEST(dump(serve_options({"serve"}, {{"WRIT_LISTEN", "[::1]:9000"},
                                            {"WRIT_DATA_DIR", "/d"},
                                            {"WRIT_DATABASE_URL", "postgresql://a"},
                                            {"WRIT_MIGRATE_URL", "postgresql://m"},
                                            {"WRIT_STARTUP_TIMEOUT", "7"},
                                            {"WRIT_ALLOW_ANONYMOUS", "true"},
                                            {"WRIT_ACCEPT_CLOCK", "1"},
                                            {"WRIT_READ_CONNECTIONS", "3"},
                                            {"WRIT_BATCH_LIMIT", "4"},
                                            {"WRIT_MAX_BODY_BYTES", "2048"},
                                            {"WRIT_BODY_MEMORY_BYTES", "4096"},
                                            {"WRIT_ALLOW_ORIGIN", "http://a,https://b:1"},
                                            {"WRIT_LOG_LEVEL", "debug"}})) == expected);
}

BOOST_AUTO_TEST_CASE(a_flag_wins_over_the_environment) {
  const ServeOptions options =
      serve_options({"serve", "--listen", "127.0.0.1:1"},
                    {{"WRIT_LISTEN", "127.0.0.1:2"}, {"WRIT_BATCH_LIMIT", "9"}});
  BOOST_TEST(options.listen.port == 1);
  BOOST_TEST(options.batch_limit == 9u);
}

BOOST_AUTO_TEST_CASE(other_machines_are_let_in_only_when_that_is_said) {
  const struct {
    const char* listen;
    bool refused;
  } rows[] = {{"127.0.0.1:0", false}, {"127.9.9.9:80", false}, {"localhost:80", false},
              {"[::1]:80", false},    {"0.0.0.0:80", true},    {"[::]:80", true},
              {":80", true},          {"10.0.0.1:80", true},   {"example.org:80", true}};
  for (const auto& row : rows) {
    BOOST_TEST_CONTEXT(row.listen) {
      const CommandLine command = parse({"serve", "--listen", row.listen});
      BOOST_TEST(std::holds_alternative<Answer>(command) == row.refused);
      if (const Answer* refusal = std::get_if<Answer>(&command)) {
        BOOST_TEST(refusal->exit_code == kUsageError);
        BOOST_TEST(refusal->text.starts_with("writ: refusing to listen on "));
      }
      BOOST_TEST(
          serve_options({"serve", "--listen", row.listen, "--allow-anonymous"}).allow_anonymous);
    }
  }
}

BOOST_AUTO_TEST_CASE(wrong_options_are_named_in_one_line) {
  const struct {
    std::vector<const char*> arguments;
    const char* says;
  } rows[] = {
      {{}, "a command is required"},
      {{"sevre"}, "sevre"},
      {{"serve", "--listne", "x"}, "--listne"},
      {{"serve", "--listen", "8080"}, "host:port"},
      {{"serve", "--listen", "127.0.0.1:65536"}, "65535"},
      {{"serve", "--read-connections", "0"},
       "--read-connections: \"0\" is no whole number from 1 to 32;"},
      {{"serve", "--batch-limit", "257"}, "--batch-limit"},
      {{"serve", "--max-body-bytes", "1023"}, "--max-body-bytes"},
      {{"serve", "--body-memory-bytes", "1"}, "--body-memory-bytes"},
      {{"serve", "--allow-origin", "https://*"}, "\"https://*\" is no origin"},
      {{"serve", "--allow-origin", "*"}, "\"*\" is no origin"},
      {{"serve", "--allow-origin", "https://a/"}, "\"https://a/\" is no origin"},
      {{"serve", "--allow-origin", "https://a", "https://b"}, "https://b"},
      {{"serve", "--startup-timeout", "0"}, "--startup-timeout"},
      {{"serve", "--log-level", "loud"},
       "--log-level: \"loud\" is not trace, debug, info, warn, error or off;"},
      {{"completion", "fish"}, "shell: \"fish\" is not bash or zsh;"},
      {{"get", "--output", "1"}, "--output: \"1\" is not table, json or yaml;"},
      {{"erase", "--position", "0", "-m", "a"}, "--position: \"0\" is no whole number from 1 on;"},
      {{"serve", "--migrate-url", "postgresql://m"}, "--migrate-url requires --database-url"},
      {{"serve", "extra"}, "extra"},
      {{"rebuild"}, "projection is required"},
      {{"rebuild", "clouds"}, "clouds"},
  };
  for (const auto& row : rows) {
    BOOST_TEST_CONTEXT(row.says) {
      const Answer refusal = answer(row.arguments);
      BOOST_TEST(refusal.exit_code == kUsageError);
      BOOST_TEST(refusal.text.starts_with("writ: "));
      BOOST_TEST(refusal.text.find(row.says) != std::string::npos, refusal.text);
      BOOST_TEST(refusal.text.find('\n') == refusal.text.size() - 1, refusal.text);
    }
  }
  BOOST_TEST(answer({"serve"}, {{"WRIT_BATCH_LIMIT", "many"}}).exit_code == kUsageError);
}

BOOST_AUTO_TEST_CASE(an_empty_value_is_not_the_same_as_an_option_left_out) {
  const std::vector<const char*> rows[] = {
      {"set", "-d", "", "run.default_queue=oops"},
      {"set", "-d", "q", "-p", "", "run.default_queue=oops"},
      {"set", "--domain=", "run.default_queue=oops", "labels.a=b"},
      {"set", "labels.a=b", "-m", ""},
      {"get", "--at", ""},
      {"get", "--url", ""},
      {"get", "-o", ""},
      {"log", "--actor", ""},
      {"log", "--path", ""},
      {"watch", "--after", ""},
      {"export", "--checkpoint", ""},
      {"verify", "--checkpoint", ""},
      {"show", ""},
      {"edit", "--from-file", ""},
      {"token", "list", "--token-file", ""},
      {"serve", "--signing-key", ""},
      {"serve", "--allow-origin", ""},
      {"serve", "--database-url="},
  };
  for (const auto& row : rows) {
    const CommandLine command = parse(row);
    const Answer* refusal = std::get_if<Answer>(&command);
    BOOST_TEST_REQUIRE(refusal != nullptr, row[0] << " " << row[1]);
    BOOST_TEST(refusal->exit_code == kUsageError);
    BOOST_TEST(refusal->text.starts_with("writ: "), refusal->text);
  }
  BOOST_TEST(answer({"set", "-d", "", "labels.a=b"})
                 .text.starts_with("writ: --domain: the value is empty; leave it out"));
  BOOST_TEST(answer({"set", "--domain=", "labels.a=b"})
                 .text.starts_with("writ: --domain: the value is empty; leave it out"));
  BOOST_TEST(std::holds_alternative<Task>(parse({"set", "run.run_base_dir="})));
  // An empty variable of the environment is none.
  BOOST_TEST(serve_options({"serve"}, {{"WRIT_LISTEN", ""}}).listen.port == 8080);
}

BOOST_AUTO_TEST_CASE(a_wrong_variable_of_the_environment_is_named) {
  const struct {
    const char *variable, *value, *says;
  } rows[] = {
      {"WRIT_ALLOW_ANONYMOUS", "maybe",
       "WRIT_ALLOW_ANONYMOUS (--allow-anonymous): \"maybe\" is neither true nor false"},
      {"WRIT_BATCH_LIMIT", "many", "WRIT_BATCH_LIMIT (--batch-limit): \"many\" is no whole number"},
      {"WRIT_LISTEN", "8080", "WRIT_LISTEN (--listen): "},
      {"WRIT_MIGRATE_URL", "postgresql://m",
       "WRIT_MIGRATE_URL (--migrate-url) requires --database-url"},
  };
  for (const auto& row : rows) {
    const Answer refusal = answer({"serve"}, {{row.variable, row.value}});
    BOOST_TEST(refusal.exit_code == kUsageError);
    BOOST_TEST(refusal.text.starts_with(std::string("writ: ") + row.says), refusal.text);
  }
  BOOST_TEST(answer({"serve", "--batch-limit", "x"}, {{"WRIT_BATCH_LIMIT", "many"}})
                 .text.starts_with("writ: --batch-limit: \"x\""));
  BOOST_TEST(serve_options({"serve"}, {{"WRIT_ALLOW_ANONYMOUS", "True"}}).allow_anonymous);
}

BOOST_AUTO_TEST_CASE(help_names_every_environment_variable_and_the_exit_codes) {
  const Answer help = answer({"--help"});
  BOOST_TEST(help.exit_code == kSuccess);
  for (const char* part : {"Examples:", "Exit codes:", "serve", "rebuild"})
    BOOST_TEST(help.text.find(part) != std::string::npos, part);
  const Answer serve_help = answer({"serve", "--help"});
  BOOST_TEST(serve_help.exit_code == kSuccess);
  for (const char* part :
       {"Usage: writ serve", "WRIT_LISTEN", "WRIT_DATA_DIR", "WRIT_DATABASE_URL",
        "WRIT_MIGRATE_URL", "WRIT_STARTUP_TIMEOUT", "WRIT_ALLOW_ANONYMOUS", "WRIT_ACCEPT_CLOCK",
        "WRIT_READ_CONNECTIONS", "WRIT_BATCH_LIMIT", "WRIT_MAX_BODY_BYTES", "WRIT_LOG_LEVEL"})
    BOOST_TEST(serve_help.text.find(part) != std::string::npos, part);
  const std::string erase_help = answer({"erase", "--help"}).text;
  BOOST_TEST(erase_help.find("with the names of a map's entries") != std::string::npos, erase_help);
  BOOST_TEST(answer({"accept-log", "--help"}).text.find("a fork") != std::string::npos);
  BOOST_TEST(answer({"--version"}).text.starts_with("writ "));
}

BOOST_AUTO_TEST_CASE(the_operators_commands_are_tasks_or_say_what_they_miss) {
  for (const std::vector<const char*>& good : std::vector<std::vector<const char*>>{
           {"rebuild", "settings", "--data-dir", "/d"},
           {"rebuild", "changed_paths", "--url", "http://h"},
           {"verify", "--checkpoint", "c", "--from", "7"},
           {"export"},
           {"verify-export", "f", "--key", "k", "--checkpoint", "c"},
           {"erase", "--position", "7", "-m", "why"},
       })
    BOOST_TEST(std::holds_alternative<Task>(parse(good)), good[0]);
  for (const std::vector<const char*>& bad : std::vector<std::vector<const char*>>{
           {"rebuild"},
           {"rebuild", "nothing"},
           {"verify", "--from", "7"},
           {"verify-export", "f", "--key", "k"},
           {"verify-export", "f", "--checkpoint", "c"},
           {"erase", "-m", "why"},
           {"erase", "--position", "7"},
           {"erase", "--position", "x", "-m", "why"},
       })
    BOOST_TEST(std::get<Answer>(parse(bad)).exit_code == kUsageError, bad[0]);
}

BOOST_AUTO_TEST_CASE(a_signing_key_that_everybody_may_read_is_warned_of) {
  namespace fs = std::filesystem;
  const fs::path data = fs::temp_directory_path() / ("writ-options-" + hex(random_bytes(8)));
  fs::create_directory(data);
  for (const bool own : {true, false}) {
    LogOptions options;
    if (!own) options.signing_key = data / "given";
    const fs::path key = data / (own ? "signing-key" : "given");
    make_signing_key(key);
    for (const unsigned mode : {0600u, 0440u, 0640u, 0644u, 0604u}) {
      fs::permissions(key, fs::perms(mode));
      const std::ostringstream told;
      std::streambuf* const before = std::cerr.rdbuf(told.rdbuf());
      make_signer(options, data, true, "0123");
      std::cerr.rdbuf(before);
      const bool warns = (mode & 4u) != 0;
      BOOST_TEST(told.str().starts_with("writ: warning: ") == warns, told.str());
      BOOST_TEST(told.str().ends_with(": chmod 600 " + key.string() + "\n") == warns, told.str());
    }
  }
  fs::remove_all(data);
}

BOOST_AUTO_TEST_CASE(the_continuous_check_can_be_paced_and_turned_off) {
  BOOST_TEST(serve_options({"serve"}).check_pause.count() == 600);
  BOOST_TEST(serve_options({"serve", "--check-pause", "0"}).check_pause.count() == 0);
  BOOST_TEST(serve_options({"serve"}, {{"WRIT_CHECK_PAUSE", "7"}}).check_pause.count() == 7);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
