#include <boost/test/unit_test.hpp>

#include <map>
#include <random>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/in_parallel.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/random_settings.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

const std::string kAudit = "/writ.audit.v1.AuditService/";
constexpr int kWriters = 6;
constexpr int kWritesEach = 40;

Json ask(ApiClient& client, const std::string& method, const Json& request) {
  const HttpAnswer answer =
      client.send("POST", kAudit + method, "application/json", request.dump());
  require(answer.status == 200, method + request.dump() + ": " + answer.body);
  return answer.json();
}

std::vector<Json> elements(const Json& object, const std::string& name) {
  const Json* const found = object.find(name);
  return found == nullptr ? std::vector<Json>() : found->elements();
}

std::string dumped(const Json* value) { return value == nullptr ? "" : value->dump(); }

/// Creates, updates or reverts whatever is there; a conflict is tried again with what is there now.
void write_one(ApiClient& client, RandomSettings& random) {
  const Json key = random.key();
  const Json settings = random.settings();
  for (;;) {
    const Json now = client.call("GetSettingsForEdit", Json::object({{"key", key}})).json();
    const Json& level = now.at("levels").elements().back();
    const Json* const version = level.find("version");
    Json request = Json::object({{"key", key}, {"settings", settings}});
    if (version != nullptr) request["version"] = version->text();
    const bool revert = version != nullptr && version->text() != "1" && random.chance(20);
    if (revert) {
      request.erase("settings");
      request["toVersion"] = std::to_string(1 + random.number(std::stoi(version->text()) - 1));
    }
    const HttpAnswer answer =
        revert ? client.send("POST", kAudit + "Revert", "application/json", request.dump())
               : client.call(version == nullptr ? "CreateSettings" : "UpdateSettings", request);
    if (answer.status == 200) return;
    require(answer.code() == "failed_precondition" || answer.code() == "already_exists",
            answer.body);
  }
}

std::vector<Json> all_changes(ApiClient& client) {
  std::vector<Json> changes;
  Json request = Json::parse(R"({"oldestFirst":true,"pageSize":37})");
  for (;;) {
    const Json page = ask(client, "ListChanges", request);
    for (const Json& change : elements(page, "changes")) changes.push_back(change);
    if (page.find("nextCursor") == nullptr) return changes;
    request["cursor"] = page.at("nextCursor");
  }
}

/// What a record says by its diffs, and where each leaf was last said.
struct Replayed {
  long version = 0;
  std::map<std::string, std::string> values, positions;
};

std::map<std::string, Replayed> replay(const std::vector<Json>& changes) {
  std::map<std::string, Replayed> records;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Json& change = changes[i];
    BOOST_TEST(change.at("position").text() == std::to_string(i + 1));
    Replayed& record = records[change.at("key").dump()];
    BOOST_TEST(change.at("version").text() == std::to_string(++record.version));
    for (const Json& leaf : elements(change, "leaves")) {
      const std::string path = leaf.at("path").text();
      const auto before = record.values.find(path);
      BOOST_TEST(dumped(leaf.find("before")) ==
                 (before == record.values.end() ? "" : before->second));
      record.values.erase(path);
      record.positions.erase(path);
      if (const Json* const after = leaf.find("after")) {
        record.values[path] = after->dump();
        record.positions[path] = change.at("position").text();
      }
    }
  }
  return records;
}

/// A revert says exactly what the version says that it names. Answers how many there are.
int check_reverts(ApiClient& client, const std::vector<Json>& changes) {
  int reverts = 0;
  for (const Json& change : changes) {
    const Json* const detail = change.find("detail");
    const Json* const named = detail == nullptr ? nullptr : detail->find("reverted_to");
    if (named == nullptr) continue;
    ++reverts;
    const auto record = [&](const Json& version) {
      const Json at = Json::object({{"version", version}});
      const Json told =
          ask(client, "GetSettingsAt", Json::object({{"key", change.at("key")}, {"at", at}}));
      const Json& level = told.at("levels").elements().back();
      BOOST_TEST(level.at("version") == version);
      return dumped(level.find("settings"));
    };
    BOOST_TEST_CONTEXT("position " << change.at("position").text() << " reverts to "
                                   << named->text())
    BOOST_TEST(record(change.at("version")) == record(*named));
  }
  return reverts;
}

/// What the present says of a record, level by level, by blame of the instance alone and by the
/// settings in effect.
void check_present(ApiClient& client, const Json& key, const Replayed& record) {
  const Json request = Json::object({{"key", key}});
  BOOST_TEST(ask(client, "GetSettingsAt", request).at("effective") ==
             client.call("GetSettings", request).json().at("settingsRecord"));
  Json all = request;
  all["from"]["position"] = "0";
  std::map<std::string, std::string> stored;
  for (const Json& leaf : elements(ask(client, "Diff", all), "leaves"))
    stored[leaf.at("path").text()] = leaf.at("after").dump();
  BOOST_TEST((stored == record.values));
  const std::string level = key.find("project") != nullptr  ? "SCOPE_LEVEL_PROJECT"
                            : key.find("domain") != nullptr ? "SCOPE_LEVEL_DOMAIN"
                                                            : "";
  for (const Json& leaf : elements(ask(client, "Blame", request), "leaves")) {
    const Json& origin = leaf.at("origin");
    const Json* const found = origin.find("scopeLevel");
    if ((found == nullptr ? "" : found->text()) != level) continue;
    const std::string path = leaf.at("path").text();
    BOOST_REQUIRE_MESSAGE(record.values.contains(path), path);
    BOOST_TEST(leaf.at("value").dump() == record.values.at(path));
    BOOST_TEST(origin.at("position").text() == record.positions.at(path));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_history_of_two_processes_and_many_writers)

BOOST_AUTO_TEST_CASE(adds_up_to_the_present_in_both) {
  const TestDatabase database;
  const WritProcess one(database), two(database);
  const auto seed = seed_from_environment().value_or(std::random_device()());
  BOOST_TEST_MESSAGE("WRIT_SEED=" << seed);
  in_parallel(kWriters, [&](int writer) {
    ApiClient client(writer % 2 == 0 ? one.port() : two.port());
    RandomSettings random(seed + static_cast<std::uint64_t>(writer));
    for (int i = 0; i < kWritesEach; ++i) write_one(client, random);
  });
  ApiClient first(one.port()), second(two.port());
  const std::vector<Json> changes = all_changes(first);
  BOOST_TEST(changes.size() == static_cast<std::size_t>(kWriters * kWritesEach));
  BOOST_TEST((changes == all_changes(second)));
  for (const auto& [key, record] : replay(changes))
    for (ApiClient* client : {&first, &second}) check_present(*client, Json::parse(key), record);
  for (ApiClient* client : {&first, &second}) BOOST_TEST(check_reverts(*client, changes) > 0);
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
