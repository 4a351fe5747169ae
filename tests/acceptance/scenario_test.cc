#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <sstream>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/tokens.h"
#include "tests/acceptance/writ_process.h"

// Three people, two domains, four projects, thirty changes, and every question that an auditor has,
// asked by the API and by the command line. What must come out was worked out by hand.

namespace writ::test {
namespace {

const std::string kAudit = "/writ.audit.v1.AuditService/";

/// One change, by the command line or by the API.
struct Step {
  std::string who;
  std::string scope;             // "", "domain" or "domain/project"
  std::vector<std::string> cli;  // a command without scope and reason; empty: by the API
  std::string api;               // the whole record, or `{"toVersion":…}` for a revert
  int version;                   // of the record after it
  std::string reason;
};

std::string string_leaf(const std::string& value) {
  return R"({"state":"SETTING_STATE_VALUE","stringValue":")" + value + "\"}";
}
std::string gpu(const std::string& max) {
  return R"({"taskResource":{"max":{"gpu":{"state":"SETTING_STATE_VALUE","quantityValue":")" + max +
         "\"}}}}";
}
std::string map_leaf(const std::string& field, const std::string& entries) {
  return "{\"" + field + R"(":{"state":"SETTING_STATE_VALUE","mapValue":{"entries":)" + entries +
         "}}}";
}
std::string queue(const std::string& name) {
  return R"({"run":{"defaultQueue":)" + string_leaf(name) + "}}";
}

const std::string kProduction = "production", kStaging = "staging";
const std::string kRecsys = "production/recsys", kAds = "production/ads";
const std::string kStagingRecsys = "staging/recsys", kStagingAds = "staging/ads";

// The position of a step is its place here, from 1 on.
const std::vector<Step> kSteps = {
    {"ann", "", {"set", "task_resource.max.gpu=4", "run.default_queue=default"}, "", 1, "first"},
    {"ann", kProduction, {}, gpu("8"), 1, "production trains"},
    {"bo", kRecsys, {"set", "labels.team=recsys", "labels.tier=gold"}, "", 1, "tags"},
    {"ann", kStaging, {}, queue("staging-pool"), 1, "cheap machines"},
    {"bo", kAds, {"set", "labels.team=ads"}, "", 1, "tags"},
    {"bo", kProduction, {"set", "security.service_account=runner"}, "", 2, "least privilege"},
    {"bo", kRecsys, {"unset", "security.service_account"}, "", 2, "its own"},
    {"ann", kStagingRecsys, {}, map_leaf("labels", R"({"team":"recsys"})"), 1, "tags"},
    {"ann", kStagingAds, {"set", "environment_variables.MODE=dry"}, "", 1, "no bids"},
    {"bo", kProduction, {"set", "task_resource.max.gpu=16"}, "", 3, "bigger models"},
    {"bo",
     kRecsys,
     {},
     R"({"security":{"serviceAccount":{"state":"SETTING_STATE_UNSET"}},)" +
         map_leaf("labels", R"({"team":"recsys","tier":"platinum"})").substr(1),
     3,
     "upgrade"},
    {"ann", "", {"set", "labels.org=acme"}, "", 2, "tags"},
    {"bo", kRecsys, {"inherit", "labels.tier"}, "", 4, "no tiers"},
    {"ann", kProduction, {}, R"({"toVersion":"2"})", 4, "16 was too many"},
    {"bo", kProduction, {"set", "task_resource.max.gpu=12"}, "", 5, "a compromise"},
    {"ann", kStaging, {"set", "run.default_queue=staging-gpu"}, "", 2, "GPUs came"},
    {"ann", kStagingRecsys, {"unset", "run.default_queue"}, "", 2, "any queue"},
    {"ann",
     kStagingAds,
     {},
     map_leaf("environmentVariables", R"({"MODE":"wet","LEVEL":"1"})"),
     2,
     "real bids"},
    {"bo", kAds, {"set", "run.max_action_concurrency=10"}, "", 2, "gently"},
    {"bo", kAds, {"set", "run.max_action_concurrency=20"}, "", 3, "faster"},
    {"bo", kAds, {"revert", "--to-version", "2"}, "", 4, "20 broke it"},
    {"ann", "", {"set", "task_resource.max.gpu=2"}, "", 3, "save money"},
    {"ann",
     kStaging,
     {},
     R"({"labels":{"state":"SETTING_STATE_UNSET"},)" + queue("staging-gpu").substr(1),
     3,
     "no labels"},
    {"ann", kStagingRecsys, {"revert", "--to-version", "1"}, "", 3, "queue again"},
    {"bo", kRecsys, {"inherit", "security.service_account"}, "", 5, "the common one"},
    {"ann", kProduction, {"set", "run.run_base_dir=s3://prod/runs"}, "", 6, "one place"},
    {"bo", kRecsys, {"set", "task_resource.max.gpu=3"}, "", 6, "recsys cap"},
    {"ann", kStagingAds, {"inherit", "environment_variables.MODE"}, "", 3, "default mode"},
    {"bo",
     kAds,
     {},
     R"({"run":{"maxActionConcurrency":{"state":"SETTING_STATE_VALUE","intValue":"10"}},)" +
         map_leaf("labels", R"({"team":"adtech"})").substr(1),
     5,
     "renamed"},
    {"ann", "", {"set", "run.default_queue=main"}, "", 4, "renamed"},
};

Json key_of(const std::string& scope) {
  const auto slash = std::min(scope.find('/'), scope.size());
  return key_json(scope.substr(0, slash),
                  slash < scope.size() ? scope.substr(slash + 1) : std::string());
}

std::vector<std::string> scope_options(const std::string& scope) {
  if (scope.empty()) return {};
  const auto slash = scope.find('/');
  std::vector<std::string> options = {"-d", scope.substr(0, slash)};
  if (slash != scope.npos) options.insert(options.end(), {"-p", scope.substr(slash + 1)});
  return options;
}

std::string text(const Json& object, const std::string& name) {
  const Json* const found = object.find(name);
  return found == nullptr ? "" : found->text();
}

/// Ann writes everywhere, Bo in production; Eve reads everything, its history too.
struct People : Tokens {
  People() {
    create("ann", "editor", "*");
    create("bo", "editor", "production");
    create("eve", "auditor", "*");
  }
};

struct Company {
  WritRun cli(const std::string& who, std::vector<std::string> arguments,
              const std::string& scope = "") {
    const auto options = scope_options(scope);
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_writ(std::move(arguments), {{"WRIT_URL", url}, {"WRIT_TOKEN", tokens.secret(who)}});
  }

  HttpAnswer api(const std::string& who, const std::string& method, const Json& request,
                 const std::string& reason = "") {
    HttpFields headers = tokens.as(who);
    if (!reason.empty()) headers.emplace_back("Writ-Reason", reason);
    return client.send("POST", method, "application/json", request.dump(), headers);
  }

  void write(const Step& step) {
    if (!step.cli.empty()) {
      std::vector<std::string> arguments = step.cli;
      arguments.insert(arguments.end(), {"-m", step.reason});
      const WritRun run = cli(step.who, arguments, step.scope);
      BOOST_REQUIRE_MESSAGE(run.status == 0, step.reason << ": " << run.err);
      return;
    }
    Json request = Json::parse(step.api);
    const bool revert = request.find("toVersion") != nullptr;
    if (!revert) request = Json::object({{"settings", request}});
    request["key"] = key_of(step.scope);
    if (step.version > 1) request["version"] = std::to_string(step.version - 1);
    const HttpAnswer answer = api(step.who,
                                  revert             ? kAudit + "Revert"
                                  : step.version > 1 ? kService + "UpdateSettings"
                                                     : kService + "CreateSettings",
                                  request, step.reason);
    BOOST_REQUIRE_MESSAGE(answer.status == 200, step.reason << ": " << answer.body);
  }

  /// The same question by the API and by the command line, which must answer the same.
  Json ask(const std::string& method, Json request, std::vector<std::string> arguments,
           const std::string& scope = "") {
    const HttpAnswer answer = api("eve", kAudit + method, request);
    BOOST_REQUIRE_MESSAGE(answer.status == 200, answer.body);
    arguments.insert(arguments.end(), {"-o", "json"});
    const WritRun run = cli("eve", arguments, scope);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_TEST(Json::parse(run.out) == answer.json());
    return answer.json();
  }

  /// Positions of the changes that a filter finds, newest first, by both ways.
  std::vector<int> changes(const Json& filter, std::vector<std::string> arguments,
                           const std::string& scope = "") {
    Json request = Json::object({{"filter", filter}});
    request["pageSize"] = Json::number(500);
    const HttpAnswer answer = api("eve", kAudit + "ListChanges", request);
    BOOST_REQUIRE_MESSAGE(answer.status == 200, answer.body);
    arguments.insert(arguments.begin(), "log");
    arguments.insert(arguments.end(), {"-o", "json"});
    const WritRun run = cli("eve", arguments, scope);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    std::vector<int> positions;
    std::istringstream lines(run.out);
    const Json listed = answer.json();
    if (const Json* found = listed.find("changes")) {
      for (const Json& change : found->elements()) {
        std::string line;
        std::getline(lines, line);
        BOOST_TEST(Json::parse(line) == change);
        positions.push_back(std::stoi(change.at("position").text()));
      }
    }
    std::string more;
    BOOST_TEST(!std::getline(lines, more), more);
    return positions;
  }

  TestDatabase database;
  People tokens;
  WritProcess writ{tokens.with(on(database))};
  ApiClient client{writ.port()};
  const std::string url = "http://127.0.0.1:" + std::to_string(writ.port());
};

std::vector<int> where(auto matches) {
  std::vector<int> positions;
  for (std::size_t i = kSteps.size(); i > 0; --i)
    if (matches(kSteps[i - 1])) positions.push_back(static_cast<int>(i));
  return positions;
}

const auto kEach = boost::test_tools::per_element();

void check_log(Company& company) {
  BOOST_TEST(company.changes(Json::object(), {}) == where([](const Step&) { return true; }), kEach);
  BOOST_TEST(company.changes(Json::parse(R"({"actor":"bo"})"), {"--actor", "bo"}) ==
                 where([](const Step& step) { return step.who == "bo"; }),
             kEach);
  BOOST_TEST(company.changes(Json::parse(R"({"key":{"domain":"production"},"below":true})"),
                             {"--below"}, kProduction) ==
                 where([](const Step& step) { return step.scope.starts_with(kProduction); }),
             kEach);
  BOOST_TEST(company.changes(Json::parse(R"({"key":{"domain":"staging","project":"ads"}})"), {},
                             kStagingAds) == (std::vector<int>{28, 18, 9}),
             kEach);
  // Who raised the ceiling of production, when and why?
  const Json raised =
      Json::parse(R"({"key":{"domain":"production"},"path":"task_resource.max.gpu"})");
  BOOST_TEST(company.changes(raised, {"--path", "task_resource.max.gpu"}, kProduction) ==
                 (std::vector<int>{15, 14, 10, 2}),
             kEach);
  BOOST_TEST(
      company.changes(Json::parse(R"({"path":"task_resource"})"), {"--path", "task_resource"}) ==
          (std::vector<int>{27, 22, 15, 14, 10, 2, 1}),
      kEach);
  BOOST_TEST(company.changes(Json::parse(R"({"path":"labels[\"tier\"]"})"),
                             {"--path", "labels.tier"}) == (std::vector<int>{13, 11, 3}),
             kEach);
  BOOST_TEST(company.changes(Json::parse(R"({"path":"environment_variables","actor":"ann"})"),
                             {"--path", "environment_variables", "--actor", "ann"}) ==
                 (std::vector<int>{28, 18, 9}),
             kEach);
}

void check_every_change(Company& company) {
  const Json all =
      company
          .api("eve", kAudit + "ListChanges", Json::parse(R"({"oldestFirst":true,"pageSize":500})"))
          .json();
  const auto& changes = all.at("changes").elements();
  BOOST_REQUIRE(changes.size() == kSteps.size());
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    const Step& step = kSteps[i];
    BOOST_TEST(text(changes[i], "actor") == step.who);
    BOOST_TEST(text(changes[i], "reason") == step.reason);
    BOOST_TEST(text(changes[i], "version") == std::to_string(step.version));
    BOOST_TEST(changes[i].at("key") == key_of(step.scope));
  }
  // From what to what: the ceiling up, back, and in between; an entry of a map; a block.
  struct Row {
    std::size_t position;
    const char* leaves;
  };
  const Row rows[] = {
      {10,
       R"([{"path":"task_resource.max.gpu","before":{"state":"SETTING_STATE_VALUE","value":"8"},)"
       R"("after":{"state":"SETTING_STATE_VALUE","value":"16"}}])"},
      {14,
       R"([{"path":"task_resource.max.gpu","before":{"state":"SETTING_STATE_VALUE","value":"16"},)"
       R"("after":{"state":"SETTING_STATE_VALUE","value":"8"}}])"},
      {11, R"([{"path":"labels[\"tier\"]","before":{"state":"SETTING_STATE_VALUE","value":"gold"},)"
           R"("after":{"state":"SETTING_STATE_VALUE","value":"platinum"}}])"},
      {13,
       R"([{"path":"labels[\"tier\"]","before":{"state":"SETTING_STATE_VALUE","value":"platinum"}}])"},
      {7, R"([{"path":"security.service_account","after":{"state":"SETTING_STATE_UNSET"}}])"},
      {23, R"([{"path":"labels","after":{"state":"SETTING_STATE_UNSET"}}])"},
      {24, R"([{"path":"run.default_queue","before":{"state":"SETTING_STATE_UNSET"}}])"},
  };
  for (const Row& row : rows)
    BOOST_TEST(changes[row.position - 1].at("leaves") == Json::parse(row.leaves));
}

/// The leaf of this path in a blame: value, level and position, and the positions it hides.
std::string blamed(const Json& blame, const std::string& path) {
  const Json* const leaves = blame.find("leaves");
  if (leaves == nullptr) return "nothing";
  for (const Json& leaf : leaves->elements()) {
    if (leaf.at("path").text() != path) continue;
    const Json& value = leaf.at("value");
    const Json* const said = value.find("value");
    std::string told = said == nullptr ? text(value, "state") : said->text();
    told += " by " + leaf.at("origin").at("position").text();
    if (const Json* const hidden = leaf.find("hidden"))
      for (const Json& one : hidden->elements())
        told += " over " + one.at("origin").at("position").text();
    return told;
  }
  return "nothing";
}

void check_blame(Company& company) {
  struct Row {
    std::string scope, at, path, told;
  };
  const Row rows[] = {
      {kRecsys, "", "task_resource.max.gpu", "3 by 27 over 22 over 15"},
      {kRecsys, "26", "task_resource.max.gpu", "12 by 15 over 22"},
      {kRecsys, "13", "task_resource.max.gpu", "16 by 10 over 1"},
      {kRecsys, "", "labels[\"org\"]", "acme by 12"},
      {kRecsys, "", "labels[\"team\"]", "recsys by 3"},
      {kRecsys, "", "labels[\"tier\"]", "nothing"},
      {kRecsys, "", "security.service_account", "runner by 6"},
      {kRecsys, "12", "security.service_account", "SETTING_STATE_UNSET by 7 over 6"},
      {kAds, "", "run.max_action_concurrency", "10 by 21"},
      {kAds, "", "labels[\"team\"]", "adtech by 29"},
      {kStagingRecsys, "", "run.default_queue", "staging-gpu by 16 over 30"},
      {kStagingRecsys, "", "labels[\"team\"]", "recsys by 8"},
      {"", "", "run.default_queue", "main by 30"},
  };
  for (const Row& row : rows) {
    Json request = Json::object({{"key", key_of(row.scope)}});
    std::vector<std::string> arguments = {"blame"};
    if (!row.at.empty()) {
      request["at"]["position"] = row.at;
      arguments.insert(arguments.end(), {"--at", row.at});
    }
    const Json blame = company.ask("Blame", request, arguments, row.scope);
    BOOST_TEST(blamed(blame, row.path) == row.told, row.scope << " " << row.at << " " << row.path);
  }
}

void check_past_and_present(Company& company) {
  struct Row {
    std::string scope, at, settings;
  };
  const Row rows[] = {
      {kRecsys, "9", "recsys gold 8 default UNSET"},
      {kRecsys, "12", "recsys platinum 16 default UNSET"},
      {kRecsys, "30", "recsys - 3 main runner"},
      {kAds, "30", "adtech - 12 main runner"},
      {kStagingRecsys, "17", "recsys - 4 UNSET -"},
      {kStagingRecsys, "30", "recsys - 2 staging-gpu -"},
      {kStagingAds, "30", "- - 2 staging-gpu -"},
  };
  const auto leaf = [](const Json& settings, std::vector<std::string> path,
                       const std::string& value) -> std::string {
    const Json* at = &settings;
    for (const std::string& name : path) {
      at = at->find(name);
      if (at == nullptr) return "-";
    }
    const Json* const found = at->find(value);
    if (found != nullptr) return found->text();
    return text(*at, "state") == "SETTING_STATE_UNSET" ? "UNSET" : "-";
  };
  for (const Row& row : rows) {
    const Json past = company.ask(
        "GetSettingsAt",
        Json::object({{"key", key_of(row.scope)}, {"at", Json::object({{"position", row.at}})}}),
        {"get", "--at", row.at}, row.scope);
    const Json* const stored = past.at("effective").find("settings");
    BOOST_REQUIRE(stored != nullptr);
    const std::vector<std::string> entries = {"labels", "mapValue", "entries"};
    std::string told = leaf(*stored, entries, "team") + " " + leaf(*stored, entries, "tier") + " " +
                       leaf(*stored, {"taskResource", "max", "gpu"}, "quantityValue") + " " +
                       leaf(*stored, {"run", "defaultQueue"}, "stringValue") + " " +
                       leaf(*stored, {"security", "serviceAccount"}, "stringValue");
    BOOST_TEST(told == row.settings, row.scope << " at " << row.at);
  }
  // Now is the past of the head.
  for (const std::string& scope : {std::string(), kProduction, kRecsys, kStagingAds}) {
    const Json request = Json::object({{"key", key_of(scope)}});
    BOOST_TEST(company.api("eve", kAudit + "GetSettingsAt", request).json().at("effective") ==
               company.api("eve", kService + "GetSettings", request).json().at("settingsRecord"));
  }
}

void check_diff_and_event(Company& company) {
  Json request = Json::object({{"key", key_of(kRecsys)}, {"effective", Json::boolean(true)}});
  request["from"]["position"] = "10";
  request["to"]["position"] = "15";
  const Json diff = company.ask("Diff", request, {"diff", "10", "15", "--effective"}, kRecsys);
  BOOST_TEST(
      diff.at("leaves") ==
      Json::parse(
          R"([{"path":"task_resource.max.gpu","before":{"state":"SETTING_STATE_VALUE","value":"16"},)"
          R"("after":{"state":"SETTING_STATE_VALUE","value":"12"}},)"
          R"({"path":"labels[\"org\"]","after":{"state":"SETTING_STATE_VALUE","value":"acme"}},)"
          R"({"path":"labels[\"tier\"]","before":{"state":"SETTING_STATE_VALUE","value":"gold"}}])"));
  // A revert is what it goes back to.
  for (const auto& [scope, now, then] : {std::tuple{kProduction, "4", "2"},
                                         std::tuple{kAds, "4", "2"},
                                         {kStagingRecsys, "3", "1"}}) {
    Json same = Json::object({{"key", key_of(scope)}});
    same["from"]["version"] = then;
    same["to"]["version"] = now;
    const Json nothing =
        company.ask("Diff", same, {"diff", "v" + std::string(then), "v" + std::string(now)}, scope);
    BOOST_TEST(nothing.find("leaves") == nullptr);
  }
  const Json event = company.ask("GetEvent", Json::parse(R"({"position":"14"})"), {"show", "14"});
  BOOST_TEST(text(event, "actor") == "ann");
  BOOST_TEST(text(event, "reason") == "16 was too many");
  BOOST_TEST(text(event, "stream") == "settings/v1::production:");
  BOOST_TEST(text(event, "envelope").find(R"("detail":{"reverted_to":"2"})") != std::string::npos);
}

/// Nothing of this changes anything, and each is told why.
void check_refusals(Company& company) {
  struct Row {
    std::string who, scope;
    std::vector<std::string> cli;
    int status;
    std::string message;
  };
  const Row rows[] = {
      {"bo", kStaging, {"set", "run.default_queue=mine"}, 6, "bo has editor on production"},
      {"bo", "", {"set", "task_resource.max.gpu=99"}, 6, "bo has editor on production"},
      {"bo", kStaging, {"revert", "--to-version", "1"}, 6, "bo has editor on production"},
      {"bo", kStaging, {"log"}, 6, "bo has editor on production"},
      {"eve", kProduction, {"set", "task_resource.max.gpu=99"}, 6, "eve has auditor on *"},
      {"eve", kProduction, {"revert", "--to-version", "1"}, 6, "eve has auditor on *"},
      {"bo", kProduction, {"revert", "--to-version", "6"}, 3, "nothing to go back to"},
      {"bo", kProduction, {"revert", "--to-version", "60"}, 5, "version 60"},
      {"eve", "", {"show", "31"}, 3, "position 31 is in the future"},
      {"eve", "", {"log", "--path", "task_resource.max.gpus"}, 2, "task_resource.max.gpu"},
  };
  for (const Row& row : rows) {
    const WritRun run = company.cli(row.who, row.cli, row.scope);
    BOOST_TEST_CONTEXT(row.who << ": " << row.cli[0] << " " << row.cli.back()) {
      BOOST_TEST(run.status == row.status, run.err);
      BOOST_TEST(run.err.find(row.message) != std::string::npos, run.err);
    }
  }
  Json stale = Json::object({{"key", key_of(kProduction)}, {"settings", Json::parse(gpu("99"))}});
  stale["version"] = "1";
  const HttpAnswer conflict = company.api("bo", kService + "UpdateSettings", stale);
  BOOST_TEST(conflict.code() == "failed_precondition");
  const Json debug = conflict.json().at("details").elements().at(0).at("debug");
  BOOST_TEST(text(debug, "currentVersion") == "6");
  BOOST_TEST(text(debug, "actor") == "ann");
  Json revert = Json::object({{"key", key_of(kProduction)}});
  revert["version"] = "5";
  revert["toVersion"] = "2";
  BOOST_TEST(company.api("bo", kAudit + "Revert", revert).code() == "failed_precondition");
  BOOST_TEST(query_one(company.database.conninfo(), "SELECT position FROM writ.log_head") == "30");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(three_people_and_thirty_changes)

BOOST_AUTO_TEST_CASE(are_told_by_the_api_and_the_command_line_as_they_were) {
  Company company;
  for (const Step& step : kSteps) company.write(step);
  check_log(company);
  check_every_change(company);
  check_blame(company);
  check_past_and_present(company);
  check_diff_and_event(company);
  check_refusals(company);
  BOOST_TEST(broken_invariants(company.database.conninfo()) == std::vector<std::string>{}, kEach);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
