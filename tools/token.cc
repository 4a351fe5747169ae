#include "tools/token.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "events/cluster_home.h"
#include "service/token_file.h"
#include "tools/command.h"
#include "tools/exit_codes.h"
#include "tools/option_checks.h"

namespace writ {
namespace {

using std::chrono::hours;

constexpr char kNotes[] =
    R"(A token is a name that the log shows, a role, and the scopes it is held on (with all below them):
  viewer    reads settings            auditor   also history and proofs
  editor    also writes               admin     also rebuilds, erases, defines
Run these where `writ serve` runs, or name its data directory; `create --data-dir DIR` also begins one, before the
first start. Once there is a token, `writ serve` lets in only who has one; it notices changes of the file by itself. The secret is
printed once, on standard output, and kept nowhere: the file has its SHA-256.

  writ token create --name ci --role editor --scope production --expires-in 90d
  writ token create --name ann@example.com --role viewer --scope '*' --behind-proxy
  writ token list
  writ token revoke ci)";

struct TokenCommand {
  TokenFileOptions file;
  bool directory_named = false;  // by an option or the environment, not by where we are
  std::string name;
  std::string role;
  std::vector<std::string> scopes;
  std::string expires_in;
  std::string instance = "default";
  bool behind_proxy = false;
  int (*act)(const TokenCommand&) = nullptr;  // which of the three; set while the line is read
};

Timestamp now() {
  return std::chrono::time_point_cast<Timestamp::duration>(std::chrono::system_clock::now());
}

/// `90d`, `12h` or `8w`; nothing for anything else.
std::optional<hours> parse_duration(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end + 1 != text.data() + text.size() || count < 1 || count > 100'000)
    return std::nullopt;
  switch (*end) {
    case 'h':
      return hours(count);
    case 'd':
      return hours(24 * count);
    case 'w':
      return hours(24 * 7 * count);
    default:
      return std::nullopt;
  }
}

void add_create_options(CLI::App& create, TokenCommand& options) {
  create.add_option("--name", options.name, "The actor that the log will name")
      ->type_name("NAME")
      ->required()
      ->check(must_hold(is_actor_name,
                        "is no name: it is 1 to 128 letters, digits, '.', '_', '@', '+' or '-', "
                        "starts with a letter or digit, and is not anonymous"));
  create.add_option("--role", options.role, "viewer, auditor, editor or admin")
      ->type_name("ROLE")
      ->required()
      ->check(must_hold([](const std::string& text) { return parse_role(text).has_value(); },
                        "is no role: it is viewer, auditor, editor or admin"));
  create
      .add_option("--scope", options.scopes,
                  "Where the role is held: '*', a domain, or domain/project; may be repeated")
      ->type_name("SCOPE")
      ->required()
      ->allow_extra_args(false)
      ->check(must_parse(RoleScope::parse));
  create
      .add_option("--expires-in", options.expires_in,
                  "How long it is good, such as 12h, 90d or 8w; without this for ever")
      ->type_name("TIME")
      ->check(must_hold([](const std::string& text) { return parse_duration(text).has_value(); },
                        "is no time: it is like 12h, 90d or 8w"));
  create.add_option("--instance", options.instance, "The plugin instance that it speaks for")
      ->type_name("NAME")
      ->capture_default_str();
  create.add_flag("--behind-proxy", options.behind_proxy,
                  "Without a secret: the authenticating proxy of `writ serve` says who it is");
}

/// Whether a service or a token was ever in the directory.
bool has_traces(const std::filesystem::path& data_directory) {
  return has_cluster_traces(data_directory) ||
         std::filesystem::exists(data_directory / "checkpoint") ||
         std::filesystem::exists(data_directory / "tokens.json.lock");
}

/// As change_tokens; but a file that is none of ours is refused before a lock is made beside it.
void change_checked(const std::filesystem::path& file,
                    const std::function<void(std::vector<Token>&)>& change) {
  if (std::filesystem::exists(file)) static_cast<void>(read_tokens(file));
  change_tokens(file, change);
}

int create_token(const TokenCommand& options) {
  Token token;
  token.caller.name = options.name;
  token.caller.role = *parse_role(options.role);
  for (const std::string& scope : options.scopes)
    token.caller.scopes.push_back(RoleScope::parse(scope));
  token.created = now();
  if (!options.expires_in.empty()) token.expires = now() + *parse_duration(options.expires_in);
  token.instance = options.instance;
  const std::string secret = options.behind_proxy ? "" : new_secret();
  if (!secret.empty()) token.secret_sha256 = secret_hash(secret);
  change_checked(options.file.path(), [&](std::vector<Token>& tokens) {
    if (std::any_of(tokens.begin(), tokens.end(),
                    [&](const Token& one) { return one.caller.name == options.name; }))
      throw TokenFileError("there is a token named " + options.name +
                           " already; revoke it first, or choose another name");
    tokens.push_back(token);
  });
  if (!secret.empty()) std::cout << secret << std::endl;
  std::cerr << "writ: " << options.name << " is " << options.role << " now, by "
            << options.file.path().string()
            << (secret.empty() ? "" : "; the line above is the secret, shown only this once")
            << std::endl;
  return kSuccess;
}

int list_tokens(const TokenCommand& options) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "ROLE", "SCOPES", "CREATED", "EXPIRES", "INSTANCE", "BY"}};
  if (std::filesystem::exists(options.file.path())) {
    for (const Token& token : read_tokens(options.file.path())) {
      std::string scopes;
      for (const RoleScope& scope : token.caller.scopes)
        scopes += (scopes.empty() ? "" : ",") + scope.text();
      std::string expires = "never";
      if (token.expires)
        expires = format_timestamp(*token.expires).substr(0, 16) + "Z" +
                  (*token.expires <= now() ? " (over)" : "");
      rows.push_back({token.caller.name, std::string(role_name(token.caller.role)), scopes,
                      format_timestamp(token.created).substr(0, 16) + "Z", expires, token.instance,
                      token.secret_sha256.empty() ? "proxy" : "secret"});
    }
  }
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    std::cout << line << '\n';
  }
  return kSuccess;
}

int revoke_token(const TokenCommand& options) {
  change_checked(options.file.path(), [&](std::vector<Token>& tokens) {
    if (std::erase_if(tokens, [&](const Token& one) { return one.caller.name == options.name; }) ==
        0)
      throw TokenFileError("there is no token named " + options.name + " in " +
                           options.file.path().string() +
                           "; `writ token list` shows what is there");
  });
  std::cerr << "writ: " << options.name << " is revoked; a running server notices within a second"
            << std::endl;
  return kSuccess;
}

/// Whether this is the wrong place: a directory that never had a service, or a file that is not
/// there; only `create` may begin one, where somebody said so. Says so.
bool is_lost(const TokenCommand& options) {
  const std::filesystem::path file = options.file.path();
  if (std::filesystem::exists(file)) return false;
  const bool file_named = !options.file.file.empty();
  if (options.act == create_token) {
    if (options.directory_named || file_named ||
        std::filesystem::exists(options.file.data_directory))
      return false;
  } else if (!file_named && has_traces(options.file.data_directory)) {
    return false;
  }
  std::cerr << "writ: there is no " << std::filesystem::absolute(file).string()
            << (file_named ? ", which --token-file or WRIT_TOKEN_FILE names"
                           : ", and no service has run in its directory")
            << ": run this where `writ serve` runs, or name the data directory with --data-dir or "
               "the file with --token-file; `token create` then makes what is missing"
            << std::endl;
  return true;
}

}  // namespace

std::filesystem::path TokenFileOptions::path() const {
  return file.empty() ? data_directory / "tokens.json" : file;
}

void add_token_file_option(CLI::App& command, std::filesystem::path& file) {
  command
      .add_option("--token-file", file,
                  "The file of tokens; without this, tokens.json in the data directory")
      ->envname("WRIT_TOKEN_FILE")
      ->type_name("FILE");
}

void add_token_command(CommandSet& commands) {
  const auto options = std::make_shared<TokenCommand>();
  CLI::App& token =
      commands.add("token", "Create, list or revoke tokens: who may do what",
                   [options] { return is_lost(*options) ? kUsageError : options->act(*options); });
  token.require_subcommand(1);
  token.footer(kNotes);
  const auto add = [&](const char* name, const char* about, int (*act)(const TokenCommand&)) {
    CLI::App* one = token.add_subcommand(name, about);
    CLI::Option* directory = one->add_option("--data-dir", options->file.data_directory,
                                             "Directory of the service's own files")
                                 ->envname("WRIT_DATA_DIR")
                                 ->type_name("DIR")
                                 ->capture_default_str();
    one->callback([options, act, directory] {
      options->act = act;
      options->directory_named = directory->count() > 0;
    });
    add_token_file_option(*one, options->file.file);
    return one;
  };
  add_create_options(*add("create", "Make a token and print its secret once", create_token),
                     *options);
  add("list", "Show all tokens, without secrets", list_tokens);
  add("revoke", "Take a token away", revoke_token)
      ->add_option("name", options->name, "Whose")
      ->required()
      ->type_name("NAME");
}

}  // namespace writ
