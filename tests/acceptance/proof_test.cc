// The log as evidence: signed checkpoints, proofs, tiles – and what becomes of a log that is not
// the one that was signed.

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <fstream>
#include <sstream>

#include "events/checkpoint.h"
#include "events/envelope.h"
#include "events/merkle.h"
#include "events/note.h"
#include "events/signing_keys.h"
#include "schema/base64.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/local_postgres.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/tokens.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

const std::string kAudit = "/writ.audit.v1.AuditService/";

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// A database with a signing key and a place for the last checkpoint.
struct SignedLog {
  SignedLog() { make_signing_key(key()); }

  std::filesystem::path key() const { return directory.path() / "key"; }
  std::filesystem::path last() const { return directory.path() / "data" / "checkpoint"; }
  /// The options that serve it; `more` are added.
  std::vector<std::string> options(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = on(database);
    for (const std::string& one : {std::string("--signing-key"), key().string(),
                                   std::string("--data-dir"), (directory.path() / "data").string(),
                                   std::string("--log-name"), std::string("log.example")})
      all.push_back(one);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  TestDatabase database;
  TemporaryDirectory directory;
};

HttpAnswer ask(ApiClient& client, const std::string& method, const std::string& body,
               const HttpFields& headers = {}) {
  return client.send("POST", kAudit + method, "application/json", body, headers);
}

void write(ApiClient& client, int events) {
  static int number = 0;
  for (int i = 0; i < events; ++i)
    BOOST_REQUIRE(client
                      .call("CreateSettings", create_json(key_json("d" + std::to_string(++number)),
                                                          queue_settings("q")))
                      .version() == 1);
}

Digest digest(const Json& base64) { return to_digest(*decode_base64(base64.text())); }

/// A list of hashes; empty when the answer leaves it out.
Proof hashes(const Json& answer) {
  Proof proof;
  if (const Json* all = answer.find("hashes"))
    for (const Json& one : all->elements()) proof.push_back(digest(one));
  return proof;
}

/// The checkpoint that the service signs now, checked with the key that it names.
Checkpoint checkpoint(ApiClient& client) {
  const Json answer = ask(client, "GetCheckpoint", "{}").json();
  const auto key = VerifierKey::parse(answer.at("verifierKeys").elements().at(0).text());
  return parse_checkpoint(open_note(answer.at("note").text(), std::vector{key}));
}

/// The numbers and names in the SQL are those of a forger who owns the database.
void forge(const TestDatabase& database, const std::string& sql) {
  query(database.conninfo(),
        "ALTER TABLE writ.events DISABLE TRIGGER ALL; ALTER TABLE writ.tiles DISABLE TRIGGER ALL;" +
            sql);
}

/// What a backup of one event looks like.
const std::string kBackToOne =
    "DELETE FROM writ.events WHERE position > 1; DELETE FROM writ.settings WHERE id > 1;"
    "UPDATE writ.projections SET position = least(position, 1);"
    "DELETE FROM writ.changed_paths WHERE position > 1;"
    "UPDATE writ.log_head SET (position, tree_size, root, frontier, recorded_at) ="
    " (SELECT 1, 1, leaf_hash, leaf_hash, recorded_at FROM writ.events)";

const std::string kEndSessions =
    "; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
    " current_database() AND usename = 'writ_app'";

/// A checkpoint is signed by itself every ten seconds.
constexpr std::chrono::seconds kSigned{60};

void write_refused(ApiClient& client) {
  const auto answer =
      client.call("CreateSettings", create_json(key_json("x"), queue_settings("q")));
  BOOST_TEST(answer.code() == "unavailable");
  BOOST_TEST(answer.body.find("an operator must look at it") != std::string::npos, answer.body);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(proofs)

BOOST_AUTO_TEST_CASE(every_event_is_proved_to_be_in_the_signed_tree) {
  const SignedLog log;
  WritProcess writ(log.options());
  ApiClient client(writ.port());
  write(client, 9);
  const Checkpoint now = checkpoint(client);
  BOOST_TEST(now.size.value == 9);
  BOOST_TEST(now.origin.starts_with("log.example/"));
  for (int position = 1; position <= 9; ++position) {
    const Json event =
        ask(client, "GetEvent", "{\"position\":" + std::to_string(position) + "}").json();
    for (int size = position; size <= 9; ++size) {
      const Json proof = ask(client, "GetInclusionProof",
                             "{\"position\":" + std::to_string(position) +
                                 ",\"size\":" + std::to_string(size) + "}")
                             .json();
      BOOST_TEST(verify_inclusion(position - 1, size, leaf_hash(event.at("envelope").text()),
                                  hashes(proof), digest(proof.at("root"))));
      if (size == 9) BOOST_TEST(hex(digest(proof.at("root"))) == hex(now.root));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_command_line_prints_a_proof_that_needs_no_server) {
  const SignedLog log;
  std::string key, note, proof;
  {
    WritProcess writ(log.options());
    ApiClient client(writ.port());
    write(client, 7);
    const std::string url = "http://127.0.0.1:" + std::to_string(writ.port());
    key = run_writ({"checkpoint", "--url", url, "--key"}).out;
    note = run_writ({"checkpoint", "--url", url}).out;
    BOOST_TEST(note == client.get("/log/checkpoint").body);
    const WritRun printed = run_writ({"proof", "--url", url, "5"});
    BOOST_TEST(printed.status == 0, printed.err);
    proof = printed.out;
    BOOST_TEST(run_writ({"proof", "--url", url, "8"}).status == 3);
    BOOST_TEST(run_writ({"proof", "--url", url, "0"}).status == 2);
  }
  key.pop_back();  // the line's end
  const auto end = proof.find("\n\n");
  BOOST_REQUIRE(end != std::string::npos);
  BOOST_TEST(proof.substr(end + 2) == note);
  const Checkpoint checkpoint =
      parse_checkpoint(open_note(note, std::vector{VerifierKey::parse(key)}));
  std::istringstream lines(proof.substr(0, end + 1));
  std::string line, envelope;
  Proof path;
  for (int number = 0; std::getline(lines, line); ++number) {
    if (number == 0) BOOST_TEST(line == "c2sp.org/tlog-proof@v1");
    if (number == 1) envelope = *decode_base64(line.substr(std::string("extra ").size()));
    if (number == 2) BOOST_TEST(line == "index 4");
    if (number > 2) path.push_back(to_digest(*decode_base64(line)));
  }
  BOOST_TEST(
      verify_inclusion(4, checkpoint.size.value, leaf_hash(envelope), path, checkpoint.root));
}

BOOST_AUTO_TEST_CASE(a_log_that_grew_is_proved_to_have_only_grown) {
  const SignedLog log;
  WritProcess writ(log.options());
  ApiClient client(writ.port());
  const Checkpoint empty = checkpoint(client);
  BOOST_TEST(empty.size.value == 0);
  write(client, 5);
  const Checkpoint first = checkpoint(client);
  write(client, 6);
  const Checkpoint second = checkpoint(client);
  const Json proof = ask(client, "GetConsistencyProof", R"({"fromSize":5})").json();
  BOOST_TEST(proof.at("toSize").text() == "11");
  BOOST_TEST(verify_consistency(5, 11, first.root, hashes(proof), second.root));
  BOOST_TEST(hex(digest(proof.at("fromRoot"))) == hex(first.root));
  BOOST_TEST(verify_consistency(
      0, 11, empty.root, hashes(ask(client, "GetConsistencyProof", "{}").json()), second.root));
}

BOOST_AUTO_TEST_CASE(the_last_checkpoint_is_kept_in_a_file_also_when_nobody_asked) {
  const SignedLog log;
  {
    WritProcess writ(log.options());
    ApiClient client(writ.port());
    write(client, 2);
    const std::string note = client.get("/log/checkpoint").body;
    BOOST_TEST(read(log.last()) == note);
    write(client, 1);
    BOOST_TEST(writ.stop() == 0);
  }
  BOOST_TEST(read(log.last()).find("\n3\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_static_path_answers_a_checkpoint_of_the_last_second) {
  const SignedLog log;
  WritProcess writ(log.options({"--public-log"}));
  ApiClient client(writ.port());
  const auto path = [&] { return client.get("/log/checkpoint").body; };
  const auto current = [&] { return ask(client, "GetCheckpoint", "{}").json().at("note").text(); };
  // As often as it takes on a machine that was busy for more than a second in between.
  for (;;) {
    const auto begun = std::chrono::steady_clock::now();
    const std::string before = current();
    write(client, 1);
    const std::string after = path();
    if (std::chrono::steady_clock::now() - begun >= std::chrono::seconds(1)) continue;
    BOOST_TEST(after == before);
    break;
  }
  const std::string now = current();
  BOOST_TEST(path() == now);
  write(client, 1);
  BOOST_TEST(wait_until([&] { return path() != now; }));
}

BOOST_AUTO_TEST_CASE(without_a_key_checkpoints_are_off_and_proofs_are_not) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  write(client, 2);
  const auto refused = ask(client, "GetCheckpoint", "{}");
  BOOST_TEST(refused.code() == "failed_precondition");
  BOOST_TEST(refused.message().find("--signing-key") != std::string::npos);
  BOOST_TEST(client.get("/log/checkpoint").status == 400);
  BOOST_TEST(ask(client, "GetInclusionProof", R"({"position":1})").status == 200);
  BOOST_TEST(client.get("/log/tile/0/000.p/2").status == 200);
}

BOOST_AUTO_TEST_CASE(a_proof_of_what_is_not_there_is_refused) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  write(client, 3);
  struct Row {
    const char* method;
    const char* body;
    const char* code;
  };
  for (const Row& row : {
           Row{"GetInclusionProof", "{}", "invalid_argument"},
           Row{"GetInclusionProof", R"({"position":4})", "out_of_range"},
           Row{"GetInclusionProof", R"({"position":1,"size":4})", "out_of_range"},
           Row{"GetInclusionProof", R"({"position":3,"size":2})", "invalid_argument"},
           Row{"GetInclusionProof", R"({"position":"18446744073709551615"})", "out_of_range"},
           Row{"GetConsistencyProof", R"({"fromSize":4})", "out_of_range"},
           Row{"GetConsistencyProof", R"({"fromSize":3,"toSize":2})", "invalid_argument"},
           Row{"GetConsistencyProof", R"({"fromSize":1,"toSize":4})", "out_of_range"},
       })
    BOOST_TEST_CONTEXT(row.method << " " << row.body) {
      BOOST_TEST(ask(client, row.method, row.body).code() == row.code);
    }
}

BOOST_AUTO_TEST_CASE(tiles_and_entries_are_where_tlog_tiles_has_them) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  write(client, 260);
  std::string leaves, entries;
  for (const Row& row : query(database.conninfo(),
                              "SELECT encode(leaf_hash, 'hex'), envelope"
                              " FROM writ.events ORDER BY position")) {
    leaves += from_hex(row[0]);
    entries += static_cast<char>(row[1].size() >> 8);
    entries += static_cast<char>(row[1].size() & 0xff);
    entries += row[1];
  }
  const auto full = client.get("/log/tile/0/000");
  BOOST_TEST(full.status == 200);
  BOOST_TEST(full.header("Content-Type") == "application/octet-stream");
  BOOST_TEST(full.header("Cache-Control") == "private, max-age=31536000, immutable");
  BOOST_TEST(hex(full.body) == hex(leaves.substr(0, 256 * 32)));
  BOOST_TEST(hex(client.get("/log/tile/0/001.p/4").body) == hex(leaves.substr(256 * 32)));
  BOOST_TEST(hex(client.get("/log/tile/0/001.p/2").body) == hex(leaves.substr(256 * 32, 64)));
  // A full tile still answers as the partial one that it was.
  BOOST_TEST(hex(client.get("/log/tile/0/000.p/3").body) == hex(leaves.substr(0, 96)));
  Frontier tree;
  for (std::size_t i = 0; i < 256; ++i) tree.append(to_digest(leaves.substr(i * 32, 32)));
  BOOST_TEST(hex(client.get("/log/tile/1/000.p/1").body) == hex(tree.root()));
  BOOST_TEST(
      (client.get("/log/tile/entries/000").body + client.get("/log/tile/entries/001.p/4").body ==
       entries));
  for (const char* path :
       {"/log/tile/0/001", "/log/tile/0/001.p/5", "/log/tile/0/002.p/1", "/log/tile/1/000.p/2",
        "/log/tile/1/000", "/log/tile/entries/001", "/log/tile/0/000.p/0", "/log/tile/0/0",
        "/log/tile/8/000", "/log/tile/", "/log/tile/0/x000/000", "/log/tile", "/log/"})
    BOOST_TEST_CONTEXT(path) { BOOST_TEST(client.get(path).status == 404); }
  BOOST_TEST(client.send("POST", "/log/tile/0/000", "", "").status == 405);
}

BOOST_AUTO_TEST_CASE(the_log_is_for_auditors_of_everything_unless_it_is_public) {
  const SignedLog log;
  Tokens tokens({"ed"});
  const auto viewer = Tokens::bearer(tokens.create("vi", "viewer", "*"));
  const auto domain_auditor = Tokens::bearer(tokens.create("da", "auditor", "d"));
  const auto auditor = Tokens::bearer(tokens.create("au", "auditor", "*"));
  for (const bool is_public : {false, true}) {
    WritProcess writ(tokens.with(log.options(is_public ? std::vector<std::string>{"--public-log"}
                                                       : std::vector<std::string>{})));
    ApiClient client(writ.port());
    BOOST_REQUIRE(client
                      .call("CreateSettings",
                            create_json(key_json(is_public ? "p" : "q"), queue_settings("q")),
                            tokens.as("ed"))
                      .version() == 1);
    for (const char* path : {"/log/checkpoint", "/log/tile/0/000.p/1", "/log/tile/entries/000.p/1"})
      BOOST_TEST_CONTEXT(path << (is_public ? ", public" : "")) {
        BOOST_TEST(client.get(path).status == (is_public ? 200 : 401));
        BOOST_TEST(client.get(path, viewer).status == (is_public ? 200 : 403));
        BOOST_TEST(client.get(path, domain_auditor).status == (is_public ? 200 : 403));
        BOOST_TEST(client.get(path, auditor).status == 200);
      }
    BOOST_TEST(client.get("/log/tile/0/000.p/1", auditor).header("Cache-Control") ==
               (is_public ? "public, max-age=31536000, immutable"
                          : "private, max-age=31536000, immutable"));
    BOOST_TEST(ask(client, "GetCheckpoint", "{}", viewer).code() == "permission_denied");
    BOOST_TEST(ask(client, "GetCheckpoint", "{}", auditor).status == 200);
  }
}

BOOST_AUTO_TEST_CASE(a_log_that_was_put_back_is_refused_until_an_operator_accepts_it) {
  const SignedLog log;
  {
    WritProcess writ(log.options());
    ApiClient client(writ.port());
    write(client, 4);
    BOOST_TEST(writ.stop() == 0);
  }
  forge(log.database, kBackToOne);
  const std::vector<std::string> options = log.options();
  std::vector<std::string> serve = {"serve", "--listen", "127.0.0.1:0"};
  serve.insert(serve.end(), options.begin(), options.end());
  const WritRun refused = run_writ(serve);
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err.find("ends at position 1, behind the checkpoint that was signed at"
                              " position 4") != std::string::npos,
             refused.err);
  BOOST_TEST(refused.err.find("writ accept-log") != std::string::npos, refused.err);

  std::vector<std::string> accept = {"accept-log", "-m", "the disk is gone"};
  accept.insert(accept.end(), options.begin(), options.end());
  const WritRun accepted = run_writ(accept);
  BOOST_TEST(accepted.status == 0, accepted.err);
  BOOST_TEST(accepted.out.find("accepted at position 2: ") == 0u, accepted.out);
  BOOST_TEST(broken_invariants(log.database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
  BOOST_TEST(run_writ(accept).out == "nothing to accept: the log continues the last checkpoint\n");

  WritProcess writ(options);
  ApiClient client(writ.port());
  const Json event = ask(client, "GetEvent", R"({"position":2})").json();
  BOOST_TEST(event.at("type").text() == "log.accepted");
  BOOST_TEST(event.at("reason").text() == "the disk is gone");
  BOOST_TEST(event.at("actor").text().starts_with("operator:"));
  // Read models and the history go past it.
  write(client, 1);
  BOOST_TEST(checkpoint(client).size.value == 3);
  const Json changes = ask(client, "ListChanges", R"({"filter":{"path":"run"}})").json();
  BOOST_TEST(changes.at("changes").elements().size() == 2u);
}

// With and without the service's sessions: a restore may leave them alone.
BOOST_AUTO_TEST_CASE(a_log_put_back_under_a_running_service_is_no_longer_written) {
  for (const std::string& sessions : {std::string(), kEndSessions}) BOOST_TEST_CONTEXT(sessions) {
      const SignedLog log;
      WritProcess writ(log.options());
      ApiClient client(writ.port());
      write(client, 4);
      BOOST_TEST(checkpoint(client).size.value == 4);
      forge(log.database, kBackToOne + sessions);
      write_refused(client);
      const auto ready = client.get("/readyz");
      BOOST_TEST(ready.status == 503);
      BOOST_TEST(ready.body.find("the log ends at position 1") != std::string::npos, ready.body);
      const auto refused = ask(client, "GetCheckpoint", "{}");
      BOOST_TEST(refused.code() == "data_loss");
      BOOST_TEST(refused.body.find("behind the checkpoint") != std::string::npos, refused.body);
      BOOST_TEST(read(log.last()).find("\n4\n") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_log_put_back_is_noticed_also_when_nobody_writes) {
  const SignedLog log;
  WritProcess writ(log.options());
  ApiClient client(writ.port());
  write(client, 4);
  BOOST_TEST(checkpoint(client).size.value == 4);
  forge(log.database, kBackToOne);
  BOOST_REQUIRE(wait_until([&] { return client.get("/readyz").status == 503; }, kSigned));
  const std::string body = client.get("/readyz").body;
  BOOST_TEST(body.find("behind the checkpoint") != std::string::npos, body);
  BOOST_TEST(body.find("writ accept-log") != std::string::npos, body);
}

// Between two checkpoints only the service itself knows what it acknowledged.
BOOST_AUTO_TEST_CASE(what_was_acknowledged_after_the_last_checkpoint_is_known_to_the_next_start) {
  for (const bool noticed : {true, false}) BOOST_TEST_CONTEXT(noticed) {
      const SignedLog log;
      const std::vector<std::string> options = log.options();
      {
        WritProcess writ(options);
        ApiClient client(writ.port());
        write(client, 1);
        BOOST_TEST(checkpoint(client).size.value == 1);
        write(client, 3);
        forge(log.database, kBackToOne);
        if (noticed) write_refused(client);
        BOOST_TEST(writ.stop() == 0);
      }
      std::vector<std::string> serve = {"serve", "--listen", "127.0.0.1:0"};
      serve.insert(serve.end(), options.begin(), options.end());
      const WritRun refused = run_writ(serve);
      BOOST_TEST(refused.status == 1);
      BOOST_TEST(refused.err.find("behind the checkpoint that was signed at position 4") !=
                     std::string::npos,
                 refused.err);
      std::vector<std::string> accept = {"accept-log", "-m", "the disk is gone"};
      accept.insert(accept.end(), options.begin(), options.end());
      BOOST_TEST(run_writ(accept).out.find("accepted at position 2: ") == 0u);
      const WritProcess again(options);
    }
}

// A service that was just started has acknowledged nothing, and knows what it found.
BOOST_AUTO_TEST_CASE(a_fork_is_not_written_nor_signed) {
  const SignedLog log;
  const std::vector<std::string> options = log.options();
  {
    WritProcess writ(options);
    ApiClient client(writ.port());
    write(client, 4);
    BOOST_TEST(writ.stop() == 0);
  }
  const std::string kept = read(log.last());
  BOOST_TEST(kept.find("\n4\n") != std::string::npos);
  {
    WritProcess writ(options);
    ApiClient client(writ.port());
    forge(log.database, kBackToOne);
    for (int i = 0; i < 5; ++i) write_refused(client);
    BOOST_TEST(client.get("/readyz").status == 503);
    BOOST_TEST(writ.stop() == 0);
  }
  BOOST_TEST(read(log.last()) == kept);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
