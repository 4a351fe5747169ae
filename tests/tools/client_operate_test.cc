// What the commands of an operator refuse, and how they say it.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "events/signing_keys.h"
#include "tests/acceptance/tokens.h"
#include "tests/tools/client_fixture.h"
#include "tests/tools/middle_man.h"
#include "writ/admin/v1/admin.pb.h"

namespace writ::test {
namespace {

namespace stdfs = std::filesystem;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A message of a stream, or its end.
std::string frame(bool end, const std::string& data) {
  std::string bytes(1, end ? '\x02' : '\0');
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(data.size() >> shift & 255);
  return bytes + data;
}

std::string progress(std::uint64_t done, std::uint64_t total) {
  admin::v1::VerifyResponse response;
  response.mutable_progress()->set_part("events");
  response.mutable_progress()->set_done(done);
  response.mutable_progress()->set_total(total);
  return frame(false, response.SerializeAsString());
}

Arguments joined(Arguments first, const Arguments& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(an_operators_command_line, ClientFixture)

BOOST_AUTO_TEST_CASE(prefers_a_database_that_is_named_to_the_server_of_the_environment) {
  ok({"set", "run.default_queue=a"});
  const Arguments here = on(database);
  for (const Arguments& command : {Arguments{"verify"}, Arguments{"rebuild", "settings"}}) {
    BOOST_TEST(run(joined(command, here), {{"WRIT_URL", "http://127.0.0.1:1"}}).status == 0);
    BOOST_TEST(run(command, {{"WRIT_DATA_DIR", "/nonexistent"}}).status == 0);
    const WritRun both = run(joined(joined(command, here), {"--url", url}));
    BOOST_TEST(both.status == 2);
    BOOST_TEST(has(both.err, "leave out --database-url, or --url"), both.err);
  }
}

BOOST_AUTO_TEST_CASE(makes_no_database_where_none_was) {
  const std::string empty = directory.path() / "empty";
  stdfs::create_directory(empty);
  for (const std::string& data : {empty, std::string(directory.path() / "missing")})
    for (const Arguments& command : {Arguments{"verify"}, Arguments{"rebuild", "settings"},
                                     Arguments{"accept-log", "-m", "r"}}) {
      const WritRun refused = run(joined(command, {"--data-dir", data}));
      BOOST_TEST(refused.status == 2, command[0] << refused.err);
      BOOST_TEST(has(refused.err, "no service has run in the data directory " + data), refused.err);
      BOOST_TEST(has(refused.err, data + "/POSTGRES"), refused.err);
    }
  const WritRun unsigned_log =
      run(joined({"accept-log", "-m", "r", "--data-dir", empty}, on(database)));
  BOOST_TEST(unsigned_log.status == 2);
  BOOST_TEST(has(unsigned_log.err, "there is no " + empty + "/checkpoint"), unsigned_log.err);
  BOOST_TEST(stdfs::is_empty(empty));
  BOOST_TEST(!stdfs::exists(directory.path() / "missing"));
}

BOOST_AUTO_TEST_CASE(finds_no_tokens_where_there_is_no_file_of_them) {
  const std::string missing = directory.path() / "missing.json";
  const std::string other = file("hostname", "a line that is no JSON\n");
  const std::string empty = directory.path() / "empty";
  stdfs::create_directory(empty);
  for (const Arguments& command :
       {Arguments{"token", "list"}, Arguments{"token", "revoke", "ci"}}) {
    const WritRun named = run(joined(command, {"--token-file", missing}));
    BOOST_TEST(named.status == 2, named.err);
    BOOST_TEST(has(named.err, "there is no " + missing + ", which --token-file"), named.err);
    const WritRun lost = run(joined(command, {"--data-dir", empty}));
    BOOST_TEST(lost.status == 2, lost.err);
    BOOST_TEST(has(lost.err, "there is no " + empty + "/tokens.json, and no service"), lost.err);
  }
  const WritRun create = run({"token", "create", "--token-file", other, "--name", "ci", "--role",
                              "viewer", "--scope", "*"});
  BOOST_TEST(create.status == 1);
  BOOST_TEST(has(create.err, other), create.err);
  BOOST_TEST(!stdfs::exists(other + ".lock"));
  BOOST_TEST(!stdfs::exists(missing + ".lock"));
  BOOST_TEST(stdfs::is_empty(empty));
}

BOOST_AUTO_TEST_CASE(tells_a_checkpoint_of_another_log_from_a_past_that_was_rewritten) {
  ok({"set", "run.default_queue=a"});
  std::string id =
      client.send("POST", "/writ.audit.v1.AuditService/GetHead", "application/json", "{}")
          .json()
          .at("logId")
          .text();
  const std::string root = "\n1\n" + std::string(43, 'A') + "=\n";
  const std::string rewritten = file("rewritten", "writ/" + id + root);
  std::ranges::reverse(id);
  const std::string other = file("other", "writ/" + id + root);
  for (const Arguments& where : {Arguments{}, on(database)}) {
    const WritRun refused = run(joined({"verify", "--checkpoint", other}, where));
    BOOST_TEST(refused.status == 2, refused.out);
    BOOST_TEST(has(refused.err, other + " is a checkpoint of another log, writ/" + id),
               refused.err);
    BOOST_TEST(run(joined({"verify", "--checkpoint", rewritten}, where)).status == 8);
  }
}

BOOST_AUTO_TEST_CASE(shows_an_event_to_who_may_read_the_history_of_its_record_alone) {
  ok({"set", "-d", "prod", "-p", "app", "run.default_queue=a"});
  Tokens tokens;
  const std::string secret = tokens.create("ann", "editor", "prod/app");
  WritProcess guarded(tokens.with(on(database)));
  const WritRun shown =
      run({"show", "1", "--url", "http://127.0.0.1:" + std::to_string(guarded.port())},
          {{"WRIT_TOKEN", secret}});
  BOOST_TEST(shown.status == 0, shown.err);
  BOOST_TEST(has(shown.out, "+ run.default_queue: a\n"), shown.out);
}

BOOST_AUTO_TEST_CASE(says_whose_content_was_erased) {
  for (const char* queue : {"a", "b", "c", "d"})
    ok({"set", "-d", "d", std::string("run.default_queue=") + queue});
  ok({"erase", "--position", "2", "-m", "a secret"});
  const std::string log = ok({"log", "-d", "d"});
  const std::string either = "(this event's content or that of the version before was erased)";
  BOOST_TEST(has(log, either), log);
  BOOST_TEST(!has(log, "(the content was erased)"), log);
  BOOST_TEST(has(ok({"show", "2"}), "payload     (erased)\n"));
  const std::string after = ok({"show", "3"});
  BOOST_TEST(has(after, "(what it changed is not known: the content of the version before was"),
             after);
  BOOST_TEST(!has(after, "(erased)"), after);
  const std::string erasure = ok({"show", "5"});
  BOOST_TEST(has(erasure, "log.erased"), erasure);
  BOOST_TEST(has(erasure, "erased_position: 2\n"), erasure);
  BOOST_TEST(!has(log, "log.erased"), log);
  const std::string all = ok({"log", "--limit", "1"});
  for (const char* part : {"(the log)", "log.erased", "erased_position: 2", "\"a secret\""})
    BOOST_TEST(has(all, part), all);
}

BOOST_AUTO_TEST_CASE(calls_no_export_wrong_that_cannot_be_read) {
  ok({"set", "run.default_queue=a"});
  const std::string log = file("log", ok({"export"}));
  const std::string note = file("note", "writ/0\n1\n" + std::string(43, 'A') + "=\n");
  const std::string missing = directory.path() / "missing";
  const struct {
    const char* name;
    std::string file, says;
  } rows[] = {
      {"missing", missing, "cannot read " + missing},
      {"a folder", directory.path(), "cannot read " + directory.path().string()},
      {"a key's file", log, "KEY is the text that `writ checkpoint --key` prints, no file"}};
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.name) {
      const WritRun refused =
          run({"verify-export", row.file, "--key", "/etc/hostname", "--checkpoint", note});
      BOOST_TEST(refused.status == 2, refused.out);
      BOOST_TEST(has(refused.err, row.says), refused.err);
    }
  const WritRun nowhere = run({"export", "--checkpoint", missing + "/x"});
  BOOST_TEST(nowhere.status == 2);
  BOOST_TEST(nowhere.out == "");
  BOOST_TEST(has(nowhere.err, "cannot write " + missing + "/x"), nowhere.err);
}

BOOST_AUTO_TEST_CASE(takes_no_answer_without_a_result_for_one) {
  const MiddleMan middle(writ.port(), [](const MiddleMan::Request&) {
    return MiddleMan::Answer{200, "application/connect+proto", frame(true, "{}"), {}};
  });
  for (const Arguments& command :
       {Arguments{"verify"}, Arguments{"rebuild", "settings"}, Arguments{"export"}}) {
    const WritRun none = run(joined(command, {"--url", middle.url()}));
    BOOST_TEST(none.status == 7, command[0] << none.err);
    BOOST_TEST(none.out == "");
    BOOST_TEST(has(none.err, "the server ended the answer too early"), none.err);
  }
}

BOOST_AUTO_TEST_CASE(fears_a_change_only_of_what_may_have_made_one) {
  for (const char* queue : {"a", "b"}) ok({"set", std::string("run.default_queue=") + queue});
  const MiddleMan middle(writ.port(), [](const MiddleMan::Request&) {
    MiddleMan::Answer answer;
    answer.lost = true;
    return answer;
  });
  const struct {
    Arguments command;
    bool changes = false;
  } rows[] = {{{"verify"}},
              {{"verify", "changed_paths"}},
              {{"rebuild", "settings"}},
              {{"export"}},
              {{"log"}},
              {{"get"}},
              {{"erase", "--position", "1", "-m", "r"}, true}};
  for (const auto& [command, changes] : rows) BOOST_TEST_CONTEXT(command[0]) {
      const WritRun lost = run(joined(command, {"--url", middle.url()}));
      BOOST_TEST(lost.status == 7, lost.err);
      BOOST_TEST(has(lost.err, "a change may have been made") == changes, lost.err);
      BOOST_TEST(has(lost.err, "run the command again") != changes, lost.err);
    }
}

BOOST_AUTO_TEST_CASE(tells_a_pace_once_there_is_one) {
  const MiddleMan middle(writ.port(), [](const MiddleMan::Request&) {
    return MiddleMan::Answer{200,
                             "application/connect+proto",
                             progress(500, 42'997) + progress(42'997, 42'997) + frame(true, "{}"),
                             {}};
  });
  const std::string told = run({"verify", "--url", middle.url()}).err;
  BOOST_TEST(has(told, "verify: events, 500 of 42997 done\n"), told);
  BOOST_TEST(has(told, "verify: events, 42997 of 42997 done, "), told);
  BOOST_TEST(has(told, "/s, 0 s left\n"), told);
}

BOOST_AUTO_TEST_CASE(tells_what_is_wrong_with_a_checkpoint_or_an_export_from_a_wrong_argument) {
  make_signing_key(directory.path() / "key");
  make_signing_key(directory.path() / "stranger");
  const SigningKeys keys(directory.path() / "key");
  const std::string key = keys.verifier_keys("writ/0")[0].text();
  const std::string stranger =
      SigningKeys(directory.path() / "stranger").verifier_keys("writ/0")[0].text();
  const std::string note = keys.sign("writ/0", "writ/0\n1\n" + std::string(43, 'A') + "=\n");
  const std::string good = file("good", note);
  const std::string log = file("log", ok({"export"}));
  const struct {
    const char* name;
    std::string checkpoint, key;
    int status;
    std::string says;
  } rows[] = {
      {"changed", file("changed", "writ/0\n2" + note.substr(8)), key, 8, "does not hold"},
      {"by a stranger", good, stranger, 8, "is signed by none of the keys"},
      {"of another log", file("of-another", keys.sign("writ/0", "writ/1" + note.substr(6, 48))),
       key, 8, "it is of writ/1, and the key is not"},
      {"cut off", file("cut", note.substr(0, note.size() - 9)), key, 2, "no signed note"},
      {"another text", file("text", keys.sign("writ/0", "a\n")), key, 2, "this is no checkpoint"},
      {"a folder", directory.path(), key, 2, "cannot read the checkpoint"},
      {"missing", directory.path() / "missing", key, 2, "cannot read the checkpoint"},
      {"no key", good, "nonsense", 2, "--key: "},
  };
  for (const auto& row : rows)
    for (const Arguments& command : {Arguments{"verify"}, Arguments{"verify-export", log}})
      BOOST_TEST_CONTEXT(row.name << ", " << command[0]) {
        const WritRun told =
            run(joined(command, {"--checkpoint", row.checkpoint, "--key", row.key}));
        BOOST_TEST(told.status == row.status);
        const bool wrong = row.status == 8;
        BOOST_TEST(told.out.starts_with("wrong: ") == wrong, told.out);
        BOOST_TEST(has(wrong ? told.out : told.err, row.says), told.out + told.err);
      }
  const std::pair<std::string, std::string> exports[] = {
      {"", "wrong: the export was cut off"},
      {"\xEF\xBB\xBF" + ok({"export"}), "is no export"},
      {"a line of something else\n", "is no export"}};
  for (const auto& [content, says] : exports) {
    const WritRun told =
        run({"verify-export", file("other", content), "--checkpoint", good, "--key", key});
    BOOST_TEST(told.status == 8, told.err);
    BOOST_TEST(has(told.out, says), told.out);
  }
}

BOOST_AUTO_TEST_CASE(says_how_a_reason_is_given_where_one_is_required) {
  WritProcess strict(joined(on(database), {"--require-reason"}));
  const WritRun refused = run(
      {"set", "run.default_queue=a", "--url", "http://127.0.0.1:" + std::to_string(strict.port())});
  BOOST_TEST(refused.status == 3);
  BOOST_TEST(has(refused.err, "a reason is required"), refused.err);
  BOOST_TEST(has(refused.err, "writ: -m TEXT gives the reason\n"), refused.err);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
