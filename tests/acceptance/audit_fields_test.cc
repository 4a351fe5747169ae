#include <boost/test/unit_test.hpp>
#include <future>

#include "events/connection.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/tokens.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

struct Service {
  const TestDatabase database;
  WritProcess writ{database};
  ApiClient client{writ.port()};

  std::vector<Row> events() const {
    return query(database.conninfo(),
                 "SELECT position, stream, version, actor, reason, request_id FROM writ.events"
                 " ORDER BY position");
  }
  std::string count(const std::string& table) const {
    return query_one(database.conninfo(), "SELECT count(*) FROM writ." + table);
  }
};

Json create(const std::string& domain, const std::string& queue) {
  return create_json(key_json(domain), queue_settings(queue));
}
Json update(const std::string& domain, const std::string& queue, long version) {
  return update_json(key_json(domain), queue_settings(queue), version);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(who_why_and_which_request)

BOOST_FIXTURE_TEST_CASE(stand_in_the_event, Service) {
  const std::string reason = "quota raised, see größe \"x\" \\ 2";
  const auto first = client.call("CreateSettings", create("a", "one"),
                                 {{"Writ-Reason", reason}, {"X-Request-Id", "req-1"}});
  const auto second = client.call("UpdateSettings", update("a", "two", 1));
  BOOST_TEST(first.header("X-Request-Id") == "req-1");
  const std::string made = second.header("X-Request-Id");
  BOOST_TEST(!made.empty());
  const std::vector<Row> expected = {
      {"1", "settings/v1::a:", "1", "anonymous", reason, "req-1"},
      {"2", "settings/v1::a:", "2", "anonymous", "", made},
  };
  BOOST_TEST((events() == expected));
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(are_refused_when_too_long, Service) {
  const Json body = create("a", "one");
  const HttpFields bad[] = {{{"Writ-Reason", std::string(4097, 'r')}},
                            {{"Writ-Reason", "\xff"}},
                            {{"Idempotency-Key", std::string(129, 'k')}},
                            {{"Idempotency-Key", "größe"}}};
  for (const HttpFields& headers : bad) {
    const auto answer = client.call("CreateSettings", body, headers);
    BOOST_TEST_CONTEXT(headers[0].first << ": " << headers[0].second.size() << " bytes")
    BOOST_TEST(answer.code() == "invalid_argument");
  }
  BOOST_TEST(count("events") == "0");
  const auto longest = client.call(
      "CreateSettings", body,
      {{"Writ-Reason", std::string(4096, 'r')}, {"Idempotency-Key", std::string(128, 'k')}});
  BOOST_TEST(longest.status == 200);
}

// The service chooses its own when a client's is of no use.
BOOST_FIXTURE_TEST_CASE(a_bad_request_id_is_replaced, Service) {
  const auto answer =
      client.call("CreateSettings", create("a", "one"), {{"X-Request-Id", std::string(4000, 'x')}});
  BOOST_TEST(answer.status == 200);
  const std::string id = answer.header("X-Request-Id");
  BOOST_TEST(!id.empty());
  BOOST_TEST(id.size() <= 128u);
  BOOST_TEST(events().at(0).at(5) == id);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(an_idempotency_key)

BOOST_FIXTURE_TEST_CASE(makes_a_retry_answer_as_the_first_did, Service) {
  const HttpFields key = {{"Idempotency-Key", "k1"}};
  const auto first = client.call("CreateSettings", create("a", "one"), key);
  const auto again = client.call("CreateSettings", create("a", "one"), key);
  BOOST_TEST(first.status == 200);
  BOOST_TEST(again.status == 200);
  BOOST_TEST(again.body == first.body);
  BOOST_TEST(count("events") == "1");
  BOOST_TEST(count("commands") == "1");
}

BOOST_FIXTURE_TEST_CASE(holds_although_the_version_of_an_update_is_stale_by_then, Service) {
  client.call("CreateSettings", create("a", "one"));
  const HttpFields key = {{"Idempotency-Key", "k1"}};
  const auto first = client.call("UpdateSettings", update("a", "two", 1), key);
  BOOST_TEST(first.version() == 2);
  BOOST_TEST(client.call("UpdateSettings", update("a", "three", 2)).version() == 3);
  const auto again = client.call("UpdateSettings", update("a", "two", 1), key);
  BOOST_TEST(again.status == 200);
  BOOST_TEST(again.body == first.body);
  BOOST_TEST(count("events") == "3");
}

BOOST_FIXTURE_TEST_CASE(refuses_another_command, Service) {
  const HttpFields key = {{"Idempotency-Key", "k1"}};
  client.call("CreateSettings", create("a", "one"), key);
  const std::pair<const char*, Json> others[] = {
      {"CreateSettings", create("a", "two")},
      {"CreateSettings", create("b", "one")},
      {"UpdateSettings", update("a", "one", 1)},
  };
  for (const auto& [method, body] : others) {
    BOOST_TEST_CONTEXT(method << " " << body) {
      const auto answer = client.call(method, body, key);
      BOOST_TEST(answer.status == 400);
      BOOST_TEST(answer.code() == "invalid_argument");
      BOOST_TEST(answer.message() == "the idempotency key \"k1\" was used for another command");
    }
  }
  BOOST_TEST(count("events") == "1");
}

// The codec, the org and the reason are not part of the command.
BOOST_FIXTURE_TEST_CASE(knows_the_command_however_it_is_said, Service) {
  const HttpFields key = {{"Idempotency-Key", "k1"}};
  Json other_words = create("a", "one");
  other_words["key"]["org"] = "acme";
  other_words["settings"]["labels"] = Json::object();
  other_words["settings"]["run"]["defaultQueue"]["scopeLevel"] = "SCOPE_LEVEL_PROJECT";
  client.call("CreateSettings", create("a", "one"), key);
  const auto again = client.call("CreateSettings", other_words,
                                 {{"Idempotency-Key", "k1"}, {"Writ-Reason", "tried again"}});
  BOOST_TEST(again.status == 200);
  BOOST_TEST(again.version() == 1);
  BOOST_TEST(count("events") == "1");
}

BOOST_AUTO_TEST_CASE(belongs_to_its_actor) {
  const TestDatabase database;
  const Tokens tokens({"jo", "al"});
  const WritProcess writ(tokens.with(on(database)));
  ApiClient client(writ.port());
  const auto as = [&](const char* actor) {
    HttpFields headers = tokens.as(actor);
    headers.emplace_back("Idempotency-Key", "k1");
    return headers;
  };
  BOOST_TEST(client.call("CreateSettings", create("a", "one"), as("jo")).status == 200);
  BOOST_TEST(client.call("CreateSettings", create("b", "two"), as("al")).status == 200);
  BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") == "2");
}

BOOST_FIXTURE_TEST_CASE(does_not_remember_rejections, Service) {
  const HttpFields key = {{"Idempotency-Key", "k1"}};
  BOOST_TEST(client.call("UpdateSettings", update("a", "one", 1), key).code() == "not_found");
  BOOST_TEST(count("commands") == "0");
  BOOST_TEST(client.call("CreateSettings", create("a", "one")).status == 200);
  BOOST_TEST(client.call("UpdateSettings", update("a", "one", 1), key).version() == 2);
}

BOOST_FIXTURE_TEST_CASE(outlives_the_process, Service) {
  const HttpFields key = {{"Idempotency-Key", "k1"}};
  const auto first = client.call("CreateSettings", create("a", "one"), key);
  BOOST_TEST(writ.stop() == 0);
  WritProcess next(database);
  const auto again = ApiClient(next.port()).call("CreateSettings", create("a", "one"), key);
  BOOST_TEST(again.body == first.body);
  BOOST_TEST(count("events") == "1");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(what_was_done_to_the_log)

/// The positions that a filter finds, newest first.
std::vector<std::string> found(ApiClient& client, const std::string& filter) {
  const HttpAnswer answer = client.send("POST", "/writ.audit.v1.AuditService/ListChanges",
                                        "application/json", R"({"filter":)" + filter + "}");
  BOOST_REQUIRE_MESSAGE(answer.status == 200, answer.body);
  std::vector<std::string> positions;
  const Json page = answer.json();
  if (const Json* changes = page.find("changes"))
    for (const Json& change : changes->elements())
      positions.push_back(change.at("position").text());
  return positions;
}

// The index of changed settings learns what an event changed from its content.
BOOST_FIXTURE_TEST_CASE(is_done_once_the_index_knows_what_is_erased, Service) {
  Connection owner(database.owner());
  owner.exec("BEGIN; LOCK TABLE writ.changed_paths IN ACCESS EXCLUSIVE MODE");
  client.call("CreateSettings", create("a", "one"));
  client.call("UpdateSettings", update("a", "two", 1));
  auto erased = std::async(std::launch::async, [&] {
    ApiClient other(writ.port());
    return other
        .send("POST", "/writ.admin.v1.AdminService/Erase", "application/json",
              R"({"position":"1"})", {{"Writ-Reason", "a secret"}})
        .status;
  });
  BOOST_TEST((erased.wait_for(std::chrono::seconds(1)) == std::future_status::timeout));
  owner.exec("COMMIT");
  BOOST_TEST(erased.get() == 200);
  const std::vector<std::string> both = {"2", "1"};
  BOOST_TEST(found(client, R"({"path":"run"})") == both, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(is_listed_with_the_changes_of_all_records, Service) {
  client.call("CreateSettings", create("a", "one"));
  client.call("UpdateSettings", update("a", "two", 1));
  BOOST_REQUIRE(client
                    .send("POST", "/writ.admin.v1.AdminService/Erase", "application/json",
                          R"({"position":"1"})", {{"Writ-Reason", "a secret"}})
                    .status == 200);
  using Positions = std::vector<std::string>;
  const struct {
    const char* filter;
    Positions positions;
  } rows[] = {
      {"{}", {"3", "2", "1"}},
      {R"({"actor":"anonymous"})", {"3", "2", "1"}},
      {R"({"fromPosition":"3"})", {"3"}},
      {R"({"key":{"domain":"a"}})", {"2", "1"}},
      {R"({"key":{},"below":true})", {"2", "1"}},
      {R"({"path":"run"})", {"2", "1"}},
  };
  for (const auto& row : rows) BOOST_TEST(found(client, row.filter) == row.positions, row.filter);
  const Json change = client
                          .send("POST", "/writ.audit.v1.AuditService/ListChanges",
                                "application/json", R"({"filter":{"fromPosition":"3"}})")
                          .json()
                          .at("changes")
                          .elements()
                          .at(0);
  BOOST_TEST(change.find("key") == nullptr);
  BOOST_TEST(change.at("type").text() == "log.erased");
  BOOST_TEST(change.at("reason").text() == "a secret");
  BOOST_TEST(change.at("detail").at("erased_position").text() == "1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
