#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>

#include "google/protobuf/descriptor.pb.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/child.h"
#include "tests/acceptance/local_postgres.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/tokens.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

const std::vector<std::string> kRoles = {"viewer", "auditor", "editor", "admin"};

/// What a method needs, by the words of the documentation; not what the program's own table says.
struct Needs {
  std::string method;
  std::string role;
  /// The request with %KEY% for the key; one without can be asked with the role anywhere.
  std::string request;
};

const std::string kAudit = "writ.audit.v1.AuditService/";
const std::string kAdmin = "writ.admin.v1.AdminService/";  // on `*` only
const std::string kSettings = "flyteidl2.settings.SettingsService/";

const std::vector<Needs> kNeeds = {
    {kSettings + "GetSettings", "viewer", R"({"key":%KEY%})"},
    {kSettings + "GetSettingsForEdit", "viewer", R"({"key":%KEY%})"},
    {kSettings + "CreateSettings", "editor", R"({"key":%KEY%,"settings":{}})"},
    {kSettings + "UpdateSettings", "editor", R"({"key":%KEY%,"settings":{},"version":"9"})"},
    {kAudit + "ListChanges", "auditor", R"({"filter":{"key":%KEY%}})"},
    {kAudit + "GetSettingsAt", "auditor", R"({"key":%KEY%})"},
    {kAudit + "Blame", "auditor", R"({"key":%KEY%})"},
    {kAudit + "Diff", "auditor", R"({"key":%KEY%})"},
    {kAudit + "Revert", "editor", R"({"key":%KEY%,"toVersion":"1","version":"9"})"},
    {kAudit + "WatchChanges", "auditor", R"({"filter":{"key":%KEY%}})"},
    {kAudit + "GetHead", "auditor", "{}"},
    {kAudit + "GetCheckpoint", "auditor", "{}"},
    {kAudit + "GetInclusionProof", "auditor", R"({"position":1})"},
    {kAudit + "GetConsistencyProof", "auditor", "{}"},
    {"writ.apply.v1.ApplyService/ApplyRun", "viewer", R"({"key":%KEY%})"},
    {kAudit + "GetEvent", "auditor", R"({"position":"%POSITION%"})"},
    {kAdmin + "Rebuild", "admin", R"({"projection":"settings"})"},
    {kAdmin + "Verify", "admin", "{}"},
    {kAdmin + "Export", "admin", "{}"},
    {kAdmin + "Erase", "admin", R"({"position":"1"})"},
};

std::size_t rank(const std::string& role) {
  return static_cast<std::size_t>(std::find(kRoles.begin(), kRoles.end(), role) - kRoles.begin());
}

std::string contents(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The names in a file of tokens.
std::string read_names(const std::string& file) {
  std::string names;
  const Json parsed = Json::parse(contents(file));
  for (const Json& token : parsed.at("tokens").elements()) names += token.at("name").text() + " ";
  return names;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
  return text;
}

bool is_stream(const std::string& method) {
  for (const char* name : {"/WatchChanges", "/Rebuild", "/Verify", "/Export"})
    if (method.ends_with(name)) return true;
  return false;
}

/// The code of the answer, "ok" for a good one. A stream is opened for a fifth of a second.
std::string code_of(ApiClient& client, const std::string& method, const std::string& request) {
  if (!is_stream(method)) {
    const HttpAnswer answer = client.send("POST", "/" + method, "application/json", request);
    return answer.status == 200 ? "ok" : answer.code();
  }
  std::string envelope(5, '\0');
  envelope[4] = static_cast<char>(request.size());
  const HttpAnswer answer = client.send("POST", "/" + method, "application/connect+json",
                                        envelope + request, {{"Connect-Timeout-Ms", "200"}});
  const auto found = answer.body.find("\"code\":\"");
  if (found == std::string::npos) return "ok";
  const std::string code =
      answer.body.substr(found + 8, answer.body.find('"', found + 8) - found - 8);
  return code == "deadline_exceeded" ? "ok" : code;
}

struct Guarded {
  TestDatabase database;
  Tokens tokens{{"writer"}};
  WritProcess writ{tokens.with(on(database))};
  ApiClient client{writ.port()};

  /// Waits until the server answers this caller so; a change of the file takes a moment.
  bool await(const HttpFields& who, const std::string& code) {
    return wait_until([&] {
      const HttpAnswer answer = client.call("GetSettings", Json::parse(R"({"key":{}})"), who);
      return (answer.status == 200 ? "ok" : answer.code()) == code;
    });
  }
  long events() {
    return std::stol(query_one(database.conninfo(), "SELECT count(*) FROM writ.events"));
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(who_may_do_what)

BOOST_FIXTURE_TEST_CASE(is_so_for_every_method_and_role_inside_and_outside_its_scope, Guarded) {
  struct Held {
    std::string scope;
    std::vector<std::string> inside, outside;
  };
  const std::string instance = "{}", d1 = R"({"domain":"d1"})", d2 = R"({"domain":"d2"})";
  const std::string p1 = R"({"domain":"d1","project":"p1"})";
  const std::string p2 = R"({"domain":"d1","project":"p2"})";
  const std::string other = R"({"domain":"d2","project":"p1"})";
  const std::vector<Held> scopes = {{"*", {instance, d1, d2, p1, p2, other}, {}},
                                    {"d1", {d1, p1, p2}, {instance, d2, other}},
                                    {"d1/p1", {p1}, {instance, d1, d2, p2, other}}};
  client.always(tokens.as("writer"));
  // One event each, so that GetEvent has something to be asked about.
  std::map<std::string, std::string> positions;
  for (const std::string& key : {instance, d1, d2, p1, p2, other}) {
    BOOST_REQUIRE_EQUAL(
        client.call("CreateSettings", R"({"settings":{},"key":)" + key + "}").status, 200);
    positions[key] = std::to_string(events());
  }
  int token = 0;
  for (const Held& held : scopes) {
    for (const std::string& role : kRoles) {
      const std::string name = "t" + std::to_string(++token);
      tokens.create(name, role, held.scope);
      client.always(tokens.as(name));
      BOOST_REQUIRE(
          wait_until([&] { return client.call("GetSettings", std::string("{}")).status != 401; }));
      for (const Needs& needs : kNeeds) {
        const auto check = [&](const std::string& key, bool in_scope) {
          const std::string request =
              replaced(replaced(needs.request, "%KEY%", key), "%POSITION%", positions[key]);
          const bool keyless = request == needs.request;
          const bool allowed =
              rank(role) >= rank(needs.role) &&
              (needs.method.starts_with(kAdmin) ? held.scope == "*" : in_scope || keyless);
          const std::string code = code_of(client, needs.method, request);
          BOOST_TEST((code != "permission_denied") == allowed, role << " on " << held.scope << ": "
                                                                    << needs.method << request
                                                                    << ": " << code);
          BOOST_TEST(code != "unauthenticated");
          BOOST_TEST(code != "internal");
        };
        for (const std::string& key : held.inside) check(key, true);
        for (const std::string& key : held.outside) check(key, false);
      }
    }
  }
  BOOST_TEST(events() == 6);
}

BOOST_FIXTURE_TEST_CASE(is_said_of_every_method_that_is_served, Guarded) {
  google::protobuf::FileDescriptorSet files;
  BOOST_REQUIRE(files.ParseFromString(client.get("/schema").body));
  std::set<std::string> served, known;
  for (const auto& file : files.file())
    for (const auto& service : file.service())
      for (const auto& method : service.method())
        served.insert(file.package() + "." + service.name() + "/" + method.name());
  for (const Needs& needs : kNeeds) known.insert(needs.method);
  BOOST_TEST(served == known, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(is_denied_by_default, Guarded) {
  const HttpFields nobody[] = {{},
                               {{"Authorization", "Bearer"}},
                               {{"Authorization", "Bearer " + tokens.secret("writer") + "x"}},
                               {{"Authorization", "Basic " + tokens.secret("writer")}},
                               {{"Authorization", tokens.secret("writer")}},
                               {{"X-Writ-Actor", "writer"}},
                               {{"X-Forwarded-User", "writer"}}};
  for (const HttpFields& headers : nobody)
    for (const Needs& needs : kNeeds) {
      if (is_stream(needs.method)) continue;
      const auto answer = client.send("POST", "/" + needs.method, "application/json",
                                      replaced(needs.request, "%KEY%", "{}"), headers);
      BOOST_TEST(answer.status == 401);
      BOOST_TEST(answer.code() == "unauthenticated");
    }
  for (const Needs& needs : kNeeds)
    if (is_stream(needs.method))
      BOOST_TEST(code_of(client, needs.method, "{}") == "unauthenticated");
  BOOST_TEST(events() == 0);
  // Both are in the log of requests, and probes need no token.
  BOOST_TEST(writ.await_log("\"code\":\"unauthenticated\""));
  for (const char* path : {"/healthz", "/readyz", "/version", "/metrics"})
    BOOST_TEST(client.get(path).status == 200, path);
}

BOOST_FIXTURE_TEST_CASE(is_told_with_role_and_scope_whether_there_is_a_record_or_not, Guarded) {
  tokens.create("vi", "viewer", "d1");
  BOOST_REQUIRE(await(tokens.as("vi"), "permission_denied"));
  client.call("CreateSettings", create_json(key_json("d1"), queue_settings("q")),
              tokens.as("writer"));
  for (const char* domain : {"d1", "d2"}) {
    const auto answer = client.call(
        "CreateSettings", create_json(key_json(domain), queue_settings("q")), tokens.as("vi"));
    BOOST_TEST(answer.status == 403);
    BOOST_TEST(answer.message() ==
               std::string("this needs the role editor on ") + domain + "; vi has viewer on d1");
  }
}

BOOST_FIXTURE_TEST_CASE(changes_without_a_restart, Guarded) {
  BOOST_TEST(await(tokens.as("writer"), "ok"));
  tokens.create("late", "editor", "*");
  BOOST_TEST(await(tokens.as("late"), "ok"));
  tokens.revoke("late");
  BOOST_TEST(await(tokens.as("late"), "unauthenticated"));
  // Made again it is another one.
  const HttpFields old = tokens.as("late");
  tokens.create("late", "editor", "*");
  BOOST_TEST(await(tokens.as("late"), "ok"));
  BOOST_TEST(await(old, "unauthenticated"));
}

BOOST_FIXTURE_TEST_CASE(ends_a_stream_whose_token_was_revoked, Guarded) {
  tokens.create("w", "auditor", "*");
  BOOST_REQUIRE(await(tokens.as("w"), "ok"));
  tokens.revoke("w");
  std::string envelope(5, '\0');
  envelope[4] = 2;
  // Opened before the server has looked again, or refused at once: it does not last either way.
  const auto answer = client.send("POST", "/" + kAudit + "WatchChanges", "application/connect+json",
                                  envelope + "{}", tokens.as("w"));
  BOOST_TEST(answer.body.find("\"code\":\"unauthenticated\"") != std::string::npos, answer.body);
}

BOOST_FIXTURE_TEST_CASE(ends_when_the_token_expires, Guarded) {
  tokens.create("short", "viewer", "*", {"--expires-in", "1h"});
  BOOST_REQUIRE(await(tokens.as("short"), "ok"));
  std::string file = contents(tokens.path());
  const auto at = file.find("\"expires\":\"") + 11;
  file.replace(at, 4, "2001");
  std::ofstream(tokens.path()) << file;
  BOOST_TEST(await(tokens.as("short"), "unauthenticated"));
}

BOOST_FIXTURE_TEST_CASE(is_nobody_while_the_file_cannot_be_read, Guarded) {
  BOOST_REQUIRE(await(tokens.as("writer"), "ok"));
  const std::string good = contents(tokens.path());
  for (const char* bad : {"{", R"({"tokens":[{"name":"x"}]})", R"({"token":[]})"}) {
    std::ofstream(tokens.path()) << bad;
    BOOST_TEST(await(tokens.as("writer"), "unavailable"));
  }
  BOOST_TEST(writ.await_log("nobody is let in: "));
  BOOST_TEST(client.get("/readyz").status == 503);
  std::ofstream(tokens.path()) << good;
  BOOST_TEST(await(tokens.as("writer"), "ok"));
  BOOST_TEST(client.get("/readyz").status == 200);
  std::filesystem::remove(tokens.path());
  BOOST_TEST(await({}, "unavailable"));
}

BOOST_AUTO_TEST_CASE(begins_with_the_first_token) {
  const TestDatabase database;
  Tokens tokens;
  std::vector<std::string> arguments = on(database);
  const std::filesystem::path directory = std::filesystem::path(tokens.path()).parent_path();
  arguments.insert(arguments.end(), {"--data-dir", directory.string()});
  WritProcess writ(arguments);
  ApiClient client(writ.port());
  const Json read = Json::parse(R"({"key":{}})");
  BOOST_TEST(client.call("GetSettings", read).status == 200);
  BOOST_TEST(client.call("GetSettings", read, Tokens::bearer("writ_abc")).code() ==
             "unauthenticated");
  tokens.create("first", "admin", "*");
  BOOST_TEST(wait_until([&] { return client.call("GetSettings", read).status == 401; }));
  BOOST_TEST(client.call("GetSettings", read, tokens.as("first")).status == 200);
  // And does not end by itself when the file is gone.
  BOOST_TEST(writ.stop() == 0);
  std::filesystem::remove(tokens.path());
  arguments.insert(arguments.begin(), "serve");
  WritRun refused = run_writ(arguments);
  BOOST_TEST(refused.status == 2);
  BOOST_TEST(refused.err.find("there were tokens once") != std::string::npos, refused.err);
  // A file that was named has to be there.
  arguments.insert(arguments.end(), {"--token-file", tokens.path() + "x"});
  refused = run_writ(arguments);
  BOOST_TEST(refused.status == 2);
  BOOST_TEST(refused.err.find("tokens.jsonx is not there") != std::string::npos, refused.err);
}

BOOST_AUTO_TEST_CASE(is_believed_of_a_proxy_that_is_trusted) {
  const TestDatabase database;
  Tokens tokens;
  tokens.create("ann@example.com", "editor", "*", {"--behind-proxy"});
  tokens.create("ci", "editor", "*");
  for (const bool trusted : {true, false}) {
    std::vector<std::string> arguments = tokens.with(on(database));
    arguments.insert(arguments.end(), {"--actor-header", "X-Forwarded-User", "--trusted-proxy",
                                       trusted ? "10.0.0.0/8,127.0.0.0/8" : "10.0.0.0/8"});
    WritProcess writ(arguments);
    ApiClient client(writ.port());
    const auto code = [&](const HttpFields& headers) {
      const auto answer = client.call("GetSettings", Json::parse(R"({"key":{}})"), headers);
      return answer.status == 200 ? "ok" : answer.code();
    };
    BOOST_TEST(code({{"X-Forwarded-User", "ann@example.com"}}) ==
               (trusted ? "ok" : "unauthenticated"));
    BOOST_TEST(code({{"X-Forwarded-User", "eve"}}) ==
               (trusted ? "permission_denied" : "unauthenticated"));
    // A name with a secret needs the secret, and two names are none.
    BOOST_TEST(code({{"X-Forwarded-User", "ci"}}) ==
               (trusted ? "permission_denied" : "unauthenticated"));
    BOOST_TEST(code({{"X-Forwarded-User", "ann@example.com"}, {"X-Forwarded-User", "eve"}}) ==
               "unauthenticated");
    BOOST_TEST(code({}) == "unauthenticated");
    BOOST_TEST(code(tokens.as("ci")) == "ok");
    if (!trusted) continue;
    client.call("CreateSettings", create_json(key_json("d"), queue_settings("q")),
                {{"X-Forwarded-User", "ann@example.com"}});
    BOOST_TEST(query_one(database.conninfo(), "SELECT actor FROM writ.events") ==
               "ann@example.com");
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_reason)

BOOST_AUTO_TEST_CASE(is_required_on_every_path_when_the_server_says_so) {
  const TestDatabase database;
  std::vector<std::string> arguments = on(database);
  arguments.emplace_back("--require-reason");
  const WritProcess writ(arguments);
  ApiClient client(writ.port());
  const Json key = key_json("d");
  const HttpFields why = {{"Writ-Reason", "because"}};
  const std::vector<std::pair<std::string, Json>> writes = {
      {kSettings + "CreateSettings", create_json(key, queue_settings("a"))},
      {kSettings + "UpdateSettings", update_json(key, queue_settings("b"), 1)},
      {kAudit + "Revert", Json::parse(R"({"key":{"domain":"d"},"toVersion":"1","version":"2"})")}};
  for (const auto& [method, request] : writes) {
    for (const HttpFields& none : {HttpFields{}, HttpFields{{"Writ-Reason", " \t "}}}) {
      const auto answer =
          client.send("POST", "/" + method, "application/json", request.dump(), none);
      BOOST_TEST(answer.code() == "invalid_argument", method);
      BOOST_TEST(answer.message().starts_with("a reason is required: "), answer.message());
    }
    const auto answer = client.send("POST", "/" + method, "application/json", request.dump(), why);
    BOOST_TEST(answer.status == 200, method << ": " << answer.body);
  }
  // Our own methods have a field for it.
  const auto reverted = client.send(
      "POST", "/" + kAudit + "Revert", "application/json",
      R"({"key":{"domain":"d"},"toVersion":"2","version":"3","reason":"because of that"})");
  BOOST_TEST(reverted.status == 200, reverted.body);
  BOOST_TEST(query_one(database.conninfo(),
                       "SELECT string_agg(reason, ',' ORDER BY position) FROM writ.events") ==
             "because,because,because,because of that");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_token_command)

BOOST_AUTO_TEST_CASE(keeps_no_secret_and_a_file_for_its_owner) {
  Tokens tokens;
  const std::string secret = tokens.create("ci", "editor", "production/analytics");
  BOOST_TEST(secret.size() == 48u);
  const std::string file = contents(tokens.path());
  BOOST_TEST(file.find(secret.substr(5)) == std::string::npos);
  namespace fs = std::filesystem;
  BOOST_TEST((fs::status(tokens.path()).permissions() ==
              (fs::perms::owner_read | fs::perms::owner_write)));
  const WritRun list = run_writ({"token", "list", "--token-file", tokens.path()});
  BOOST_TEST(list.status == 0);
  BOOST_TEST(list.out.find("ci    editor  production/analytics") != std::string::npos, list.out);
}

BOOST_AUTO_TEST_CASE(begins_no_data_directory_unless_that_is_said) {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  const fs::path data = directory.path() / ".writ";
  struct Ended {
    int status;
    std::string err;
  };
  const auto run = [&](std::vector<std::string> arguments,
                       const std::map<std::string, std::string>& environment = {}) {
    arguments.insert(arguments.begin(), {writ_program(), "token"});
    Child child({arguments, environment, {"WRIT_"}, false, directory.path()});
    const int status = child.wait(std::chrono::seconds(30)).value_or(-1);
    return Ended{status, child.standard_error()};
  };
  const auto create = [&](const std::string& name, std::vector<std::string> more = {},
                          const std::map<std::string, std::string>& environment = {}) {
    more.insert(more.begin(), {"create", "--name", name, "--role", "viewer", "--scope", "*"});
    return run(std::move(more), environment);
  };
  for (const Ended& lost : {create("a"), run({"list"}), run({"revoke", "a"})}) {
    BOOST_TEST(lost.status == 2, lost.err);
    BOOST_TEST(lost.err.starts_with("writ: there is no " + (data / "tokens.json").string()),
               lost.err);
    BOOST_TEST(lost.err.find("--data-dir") != std::string::npos, lost.err);
  }
  BOOST_TEST(fs::is_empty(directory.path()));
  BOOST_TEST(create("a", {"--data-dir", "said"}).status == 0);
  BOOST_TEST(create("b", {}, {{"WRIT_DATA_DIR", "said"}}).status == 0);
  BOOST_TEST(create("c", {"--token-file", "alone.json"}).status == 0);
  BOOST_TEST(read_names(directory.path() / "said" / "tokens.json") == "a b ");
  BOOST_TEST(!fs::exists(data));
  BOOST_TEST(create("d", {"--data-dir", ".writ"}).status == 0);
  BOOST_TEST(create("e").status == 0);
  BOOST_TEST(read_names(data / "tokens.json") == "d e ");
}

BOOST_AUTO_TEST_CASE(refuses_what_makes_no_sense_and_changes_nothing) {
  Tokens tokens({"ci"});
  const std::string before = contents(tokens.path());
  struct Row {
    std::vector<std::string> arguments;
    int status;
    std::string message;
  };
  const std::vector<std::string> create = {"token", "create", "--token-file", tokens.path()};
  const Row rows[] = {
      {{"--name", "ci", "--role", "viewer", "--scope", "*"},
       1,
       "there is a token named ci already"},
      {{"--name", "anonymous", "--role", "viewer", "--scope", "*"}, 2, "is no name"},
      {{"--name", "a b", "--role", "viewer", "--scope", "*"}, 2, "is no name"},
      {{"--name", "x", "--role", "root", "--scope", "*"},
       2,
       "it is viewer, auditor, editor or admin"},
      {{"--name", "x", "--role", "viewer"}, 2, "--scope is required"},
      {{"--name", "x", "--role", "viewer", "--scope", "a/b/c"}, 2, "is no scope"},
      {{"--name", "x", "--role", "viewer", "--scope", "/b"}, 2, "is no scope"},
      {{"--name", "x", "--role", "viewer", "--scope", "*", "--expires-in", "soon"},
       2,
       "is no time"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> arguments = create;
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    const WritRun run = run_writ(arguments);
    BOOST_TEST(run.status == row.status, run.err);
    BOOST_TEST(run.out.empty());
    BOOST_TEST(run.err.find(row.message) != std::string::npos, run.err);
  }
  const WritRun revoke = run_writ({"token", "revoke", "--token-file", tokens.path(), "nobody"});
  BOOST_TEST(revoke.status == 1);
  BOOST_TEST(revoke.err.find("there is no token named nobody") != std::string::npos, revoke.err);
  BOOST_TEST(contents(tokens.path()) == before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
