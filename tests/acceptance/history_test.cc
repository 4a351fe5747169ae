#include <boost/test/unit_test.hpp>

#include <functional>
#include <random>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/binary_messages.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/random_settings.h"
#include "tests/acceptance/settings_model.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

constexpr int kHistories = 3;
constexpr int kSteps = 500;

struct Step {
  std::string method;
  Json request;
  SettingsModel::Answer expected;
};

/// Breaks a valid request; answers the message that tells of it.
std::string spoil(RandomSettings& random, const std::string& method, Json& request) {
  const bool writes = method == "CreateSettings" || method == "UpdateSettings";
  switch (random.number(writes ? 8 : 3)) {
    case 0:
      request.erase("key");
      return "key is required";
    case 1:
      request["key"] = Json::object({{"project", "analytics"}});
      return "a project-scope key requires a domain";
    case 2:
      request["key"] = Json::object({{"domain", "a:b"}});
      return "invalid domain \"a:b\": must be 1 to 63 letters, digits, '-', '_' or '.', starting "
             "and ending with a letter or digit";
    case 3:
      request.erase("settings");
      return "settings is required";
    case 4:
      request["settings"]["run"]["maxActionConcurrency"] =
          Json::object({{"state", "SETTING_STATE_VALUE"}, {"intValue", "1"}});
      return "invalid max_action_concurrency 1: must be 0 (unlimited) or between 2 and 4294967295";
    case 5:
      request["settings"]["taskResource"]["min"]["cpu"] =
          Json::object({{"state", "SETTING_STATE_VALUE"}, {"quantityValue", "apple"}});
      return "invalid task_resource.min.cpu \"apple\": quantities must match the regular "
             "expression "
             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    case 6:
      request["settings"]["labels"] = Json::object({{"state", Json::number(3)}});
      return "invalid labels.state 3";
    default:
      if (method == "CreateSettings") return "";
      request.erase("version");
      return "a version is required; use CreateSettings for a new record";
  }
}

Step random_step(RandomSettings& random, SettingsModel& model) {
  Step step;
  step.request = Json::object({{"key", random.key()}});
  const int kind = random.number(10);
  step.method = kind < 2   ? "GetSettings"
                : kind < 4 ? "GetSettingsForEdit"
                : kind < 6 ? "CreateSettings"
                           : "UpdateSettings";
  if (kind >= 4) step.request["settings"] = random.settings();
  if (kind >= 6) {
    const long current = model.version(storage_key(step.request.at("key")));
    const long off = random.chance(25) ? random.number(5) - 2 : 0;
    step.request["version"] = std::to_string(std::max(1L, current + off));
  }
  if (random.chance(12)) {
    const std::string message = spoil(random, step.method, step.request);
    if (!message.empty()) {
      step.expected = {"invalid_argument", message, {}};
      return step;
    }
  }
  step.expected = step.method == "GetSettings"          ? model.get(step.request)
                  : step.method == "GetSettingsForEdit" ? model.get_for_edit(step.request)
                  : step.method == "CreateSettings"     ? model.create(step.request)
                                                        : model.update(step.request);
  return step;
}

/// What is wrong with the service's answer, "" when nothing is.
std::string difference(ApiClient& client, const Step& step, bool in_binary) {
  const auto& method = settings_method(step.method);
  const HttpAnswer answer =
      in_binary ? client.call_binary(step.method, to_binary(*method.input_type(), step.request))
                : client.call(step.method, step.request);
  const auto told = [&](const std::string& expected) {
    return "expected " + expected + ", got " + std::to_string(answer.status) + " " + answer.body;
  };
  if (!step.expected.code.empty()) {
    const bool same =
        answer.code() == step.expected.code && answer.message() == step.expected.message;
    return same ? "" : told(step.expected.code + " " + step.expected.message);
  }
  if (answer.status != 200) return told(step.expected.body.dump());
  const Json body = in_binary ? from_binary(*method.output_type(), answer.body) : answer.json();
  return body == step.expected.body ? "" : told(step.expected.body.dump());
}

void run_history(std::uint64_t seed) {
  BOOST_TEST_MESSAGE("WRIT_SEED=" << seed);
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  RandomSettings random(seed);
  SettingsModel model;
  for (int i = 0; i < kSteps; ++i) {
    const Step step = random_step(random, model);
    const bool in_binary = random.chance(50);
    const std::string wrong = difference(client, step, in_binary);
    BOOST_REQUIRE_MESSAGE(wrong.empty(), "WRIT_SEED=" << seed << ", step " << i << ", "
                                                      << step.method << " " << step.request
                                                      << (in_binary ? " in binary" : "") << ": "
                                                      << wrong);
  }
  BOOST_TEST(settings_rows(database.conninfo()) == model.rows());
  BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") ==
             std::to_string(model.events()));
  BOOST_TEST(model.events() > kSteps / 10);
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_histories)

BOOST_AUTO_TEST_CASE(are_answered_as_the_model_answers_them) {
  if (const auto seed = seed_from_environment()) return run_history(*seed);
  for (int i = 0; i < kHistories; ++i) run_history(std::random_device()());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
