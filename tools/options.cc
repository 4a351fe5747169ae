#include "tools/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>

#include "service/cors.h"
#include "tools/accept_log.h"
#include "tools/client/commands.h"
#include "tools/client/completion.h"
#include "tools/client/options.h"
#include "tools/database_options.h"
#include "tools/erase.h"
#include "tools/export.h"
#include "tools/given_options.h"
#include "tools/option_checks.h"
#include "tools/rebuild.h"
#include "tools/token.h"
#include "tools/verify.h"

#ifndef WRIT_VERSION
#error "WRIT_VERSION comes from the build"
#endif

namespace writ {
namespace {

/// The commands with options of their own: one line each, in the order of --help.
constexpr void (*kCommands[])(CommandSet&) = {
    client::add_get,     client::add_set,        client::add_edit,   client::add_log,
    client::add_blame,   client::add_diff,       client::add_revert, client::add_watch,
    client::add_apply,   client::add_checkpoint, client::add_proof,  add_token_command,
    add_rebuild_command, add_verify_command,     add_export_command, add_verify_export_command,
    add_erase_command,
};

constexpr char kAbout[] =
    "Writ keeps typed runtime settings at three scopes (instance, domain, project). Every "
    "accepted\n"
    "change is one event in an append-only log: the audit trail, the lock, and what all else is\n"
    "rebuilt from.";

constexpr char kExamples[] = R"(Examples:
  writ serve                                  serve on 127.0.0.1:8080 with a private PostgreSQL in .writ
  writ serve --listen 127.0.0.1:9090 --data-dir /srv/writ
  WRIT_DATABASE_URL=postgresql://writ_app:secret@db/writ \
  WRIT_MIGRATE_URL=postgresql://owner:secret@db/writ writ serve
  writ rebuild settings                       build the settings table anew from the log
  writ verify                                 check the whole log and what was made from it
  writ export > log.jsonl                     all of it, for `writ verify-export`
  writ set -d production task_resource.max.gpu=8 -m "bigger models"
  writ get -d production -p analytics         settings in effect, and where each comes from
  writ log --path task_resource.max           who changed it, when and why
  source <(writ completion bash)              teach the shell the commands, options and settings
  writ COMMAND --help                         every option of one command

Every option of `serve`, `rebuild` and `verify` can be given as an environment variable instead: --data-dir is
WRIT_DATA_DIR, --allow-anonymous is WRIT_ALLOW_ANONYMOUS=true. A flag wins over the environment.
The client commands find the server by --url or WRIT_URL and say who asks by the token in WRIT_TOKEN.

Exit codes:
  0  done; `serve` was told to stop (SIGTERM, Ctrl-C) and stopped cleanly
  1  could not start, or failed: one line on standard error says why
  2  wrong or refused options, or a settings file that cannot be read: nothing was touched
  3  the server refused what was asked: it is invalid, or cannot be done
  4  somebody else's change came first: nothing was written
  5  there is no such record or version
  6  not signed in, or not allowed
  7  no server there, or none that can serve now
  8  what `verify` or `verify-export` checked is not right)";

constexpr char kServeNotes[] =
    R"(With no --database-url the service owns a private PostgreSQL: made at the first start, stopped with
the service, reachable by its user only. `POSTGRES` in the data directory says how to reach it.

With --database-url any UTF-8 PostgreSQL 15 or newer serves, and several `writ serve` may share it. Give the
database's owner as --migrate-url and a role without rights to change the log as --database-url. Put secrets
into the environment: others can read a command line. Proxies that pool transactions do not work.

Without tokens everybody who can connect is an administrator, so by default only this machine can. `writ token create`
makes the first token; from then on callers need one.)";

constexpr char kAcceptNotes[] =
    R"(`writ serve` refuses a log that ends before the last checkpoint that it signed, or that is another one: a
restored backup, a lagging replica, a past that was rewritten. When that is meant, this goes on from the log as
it is: it records an event `log.accepted` that names both, and signs a new checkpoint. Whoever kept an older
checkpoint will see a fork, and that event says why. Run it with the options of `writ serve`, while that is stopped.)";

void add_limit_options(CLI::App& command, ServeOptions& options) {
  command
      .add_option("--read-connections", options.read_connections, "Database connections for reads")
      ->envname("WRIT_READ_CONNECTIONS")
      ->type_name("COUNT")
      ->check(must_be_number(1, 32))
      ->capture_default_str();
  command
      .add_option("--batch-limit", options.batch_limit, "Commands that may share one transaction")
      ->envname("WRIT_BATCH_LIMIT")
      ->type_name("COUNT")
      ->check(must_be_number(1, 256))
      ->capture_default_str();
  command
      .add_option("--max-body-bytes", options.max_body_bytes, "Largest request body, decompressed")
      ->envname("WRIT_MAX_BODY_BYTES")
      ->type_name("BYTES")
      ->check(must_be_number(1024, 256 * 1024 * 1024))
      ->capture_default_str();
  command
      .add_option("--body-memory-bytes", options.body_memory_bytes,
                  "Memory for all requests' bodies together; eight of the largest at least")
      ->envname("WRIT_BODY_MEMORY_BYTES")
      ->type_name("BYTES")
      ->check(must_be_number(1024))
      ->capture_default_str();
}

void add_check_option(CLI::App& command, ServeOptions& options) {
  command
      .add_option_function<std::uint64_t>(
          "--check-pause",
          [&options](const std::uint64_t& seconds) {
            options.check_pause = std::chrono::seconds(seconds);
          },
          "Seconds between two comparisons of all settings with the log; 0 makes none")
      ->envname("WRIT_CHECK_PAUSE")
      ->type_name("SECONDS")
      ->check(must_be_number(0, 7 * 24 * 3600))
      ->default_str(std::to_string(options.check_pause.count()));
}

void add_serve_options(CLI::App& command, ServeOptions& options, std::string& listen) {
  command
      .add_option("--listen", listen,
                  "Address to serve on, host:port or [v6]:port; port 0 picks a free one")
      ->envname("WRIT_LISTEN")
      ->type_name("ADDRESS")
      ->check(must_parse<ListenError>(parse_listen_address))
      ->capture_default_str();
  command
      .add_flag("--allow-anonymous", options.allow_anonymous,
                "Without tokens: let everybody who can connect read and write, also from other "
                "machines")
      ->envname("WRIT_ALLOW_ANONYMOUS");
  add_caller_options(command, options.callers);
  add_log_options(command, options.log);
  command
      .add_flag("--public-log", options.public_log,
                "Let everybody who can connect read the whole log, with the names in it, at "
                "/log/checkpoint and /log/tile/")
      ->envname("WRIT_PUBLIC_LOG");
  command
      .add_flag("--accept-clock", options.accept_clock,
                "Append although the database's clock is over an hour ahead of this host's")
      ->envname("WRIT_ACCEPT_CLOCK");
  command
      .add_option("--allow-origin", options.allowed_origins,
                  "Let web pages of this origin call, such as https://console.example:8443; may be "
                  "given several times, with commas between in the environment")
      ->envname("WRIT_ALLOW_ORIGIN")
      ->type_name("ORIGIN")
      ->delimiter(',')
      ->allow_extra_args(false)
      // Nor "*": without tokens, any web page could write.
      ->check(must_hold(is_origin,
                        "is no origin as browsers send it: http or https, host, and a port unless "
                        "it is the usual one, such as https://console.example:8443"));
  command
      .add_option("--log-level", options.log_level,
                  "Of the request log: info writes a line a request, warn and above none")
      ->envname("WRIT_LOG_LEVEL")
      ->type_name("LEVEL")
      ->check(must_be_one_of({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
}

Answer refuse(const std::string& why) { return {kUsageError, "writ: " + why + "\n"}; }

/// What single options cannot check of themselves.
CommandLine checked(ServeOptions options, const std::string& listen) {
  options.listen = parse_listen_address(listen);
  const IdentityOptions identity =
      identity_options(options.callers, options.database.data_directory);
  if (std::string why = token_file_trouble(options.callers, identity); !why.empty())
    return refuse(why);
  if (has_authentication(identity)) {
    if (options.allow_anonymous)
      return refuse("--allow-anonymous is for a server without tokens, and here is " +
                    (identity.actor_header.empty() ? identity.token_file.string()
                                                   : "a proxy that names callers") +
                    "; leave it out, or remove the tokens");
  } else if (!options.listen.is_loopback() && !options.allow_anonymous) {
    return refuse(
        "refusing to listen on " + options.listen.text() +
        ": without tokens everybody who can connect would be an administrator; make one with `writ "
        "token create`, listen on 127.0.0.1, or say --allow-anonymous if that is meant");
  }
  return options;
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  ServeOptions serve;
  std::string listen = serve.listen.text();

  CLI::App app(kAbout, "writ");
  app.footer(kExamples);
  app.set_version_flag("--version", "writ " WRIT_VERSION, "Print the version and exit");
  CLI::App* serve_command = app.add_subcommand("serve", "Serve the settings API over HTTP");
  serve_command->footer(kServeNotes);
  add_serve_options(*serve_command, serve, listen);
  add_limit_options(*serve_command, serve);
  add_check_option(*serve_command, serve);
  add_database_options(*serve_command, serve.database);
  AcceptLogOptions accept;
  CLI::App* accept_command = app.add_subcommand(
      "accept-log", "Go on from a log that does not continue its last checkpoint");
  accept_command->footer(kAcceptNotes);
  accept_command->add_option("-m,--reason", accept.reason, "Why; recorded in the log")
      ->type_name("TEXT")
      ->required();
  add_log_options(*accept_command, accept.log);
  add_database_options(*accept_command, accept.database);
  CommandSet commands(app);
  for (const auto add : kCommands) add(commands);
  std::string shell;
  CLI::App* completion =
      app.add_subcommand("completion", "A script that teaches a shell to complete");
  completion->add_option("shell", shell, "Which one: bash or zsh")
      ->required()
      ->check(must_be_one_of({"bash", "zsh"}));
  refuse_empty_values(app);
  if (const std::string why = empty_assignment(app, argc, argv); !why.empty())
    return refuse(why + "; see writ --help");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Answer{kSuccess, app.help()};
  } catch (const CLI::CallForVersion& e) {
    return Answer{kSuccess, std::string(e.what()) + "\n"};
  } catch (const CLI::ParseError& e) {
    return refuse(with_origin(app, e.what()) + "; see writ --help");
  }
  if (serve_command->parsed()) return checked(serve, listen);
  if (accept_command->parsed())
    return Task{[accept] { return client::report([&] { return accept_log(accept); }); }};
  if (completion->parsed()) return Answer{kSuccess, client::completion_script(app, shell)};
  if (Action action = commands.chosen()) return Task{std::move(action)};
  return refuse("a command is required, such as serve; see writ --help");
}

}  // namespace writ
