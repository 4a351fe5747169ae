#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>

#include "google/rpc/error_details.pb.h"
#include "schema/base64.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/binary_messages.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

/// One service and one record for all of a suite's requests; none of them may change anything.
struct Service {
  const TestDatabase database;
  WritProcess writ{database};
  ApiClient client{writ.port()};
  std::string events = "1";  // in the end

  Service() {
    BOOST_REQUIRE(
        client.call("CreateSettings", create_json(key_json("a"), queue_settings("q"))).status ==
        200);
  }
  ~Service() {
    BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") == events);
  }
};

/// What is wrong with a request: a field and the whole message, in the order of the checks.
using Violations = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::string name;
  Json key;
  Json settings;
  Violations violations;
};

Json value_leaf(const char* member, Json value) {
  return Json::object({{"state", "SETTING_STATE_VALUE"}, {member, std::move(value)}});
}

Json& at(Json& settings, std::string_view path) {
  Json* place = &settings;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    place = &(*place)[path.substr(begin, end - begin)];
    begin = end + 1;
  }
  return *place;
}

Json settings_with(std::initializer_list<std::pair<const char*, Json>> leaves) {
  Json settings = Json::object();
  for (const auto& [path, leaf] : leaves) at(settings, path) = leaf;
  return settings;
}

Json quantity(const char* text) { return value_leaf("quantityValue", text); }
Json text(std::string value) { return value_leaf("stringValue", std::move(value)); }
Json integer(const char* digits) { return value_leaf("intValue", digits); }
Json device(const char* name) {
  return value_leaf("acceleratorValue", Json::object({{"device", name}}));
}
Json map(std::vector<Json::Member> entries) {
  return value_leaf("mapValue", Json::object({{"entries", Json::object(std::move(entries))}}));
}

Json big_map(int count, const std::string& value = "v") {
  std::vector<Json::Member> entries;
  for (int i = 0; i < count; ++i) entries.emplace_back("k" + std::to_string(i), value);
  return map(std::move(entries));
}

const std::string kNul("\0", 1);
const std::string kFormat =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const std::string kSegment =
    ": must be 1 to 63 letters, digits, '-', '_' or '.', starting and ending with a letter or "
    "digit";
const std::string kOrg =
    "invalid org: must be at most 63 bytes of UTF-8 without control characters";
const std::string kConcurrency = ": must be 0 (unlimited) or between 2 and 4294967295";
const std::string kDevice =
    ": must be one of the flyteidl2.core.AcceleratorModel accelerator_name values";
const std::string kName =
    ": must be at most 253 lower-case letters, digits, '-' or '.', each part between dots starting "
    "and ending with a letter or digit";
const std::string kQualified =
    "a key must be 1 to 63 letters, digits, '-', '_' or '.', starting and ending with a letter or "
    "digit, after an optional DNS name and '/'";

Case bad(std::string name, Json settings, Violations violations) {
  return {std::move(name), key_json("a"), std::move(settings), std::move(violations)};
}

Case bad_key(std::string name, Json key, Violations violations) {
  return {std::move(name), std::move(key), Json::object(), std::move(violations)};
}

std::vector<Case> key_cases() {
  const std::string long_name(64, 'd');
  const auto org = [](std::string name) { return Json::object({{"org", std::move(name)}}); };
  return {
      bad_key("no key", Json(), {{"key", "key is required"}}),
      bad_key("a project alone", Json::object({{"project", "p"}}),
              {{"key.domain", "a project-scope key requires a domain"}}),
      bad_key("a colon", key_json("a:b"), {{"key.domain", "invalid domain \"a:b\"" + kSegment}}),
      bad_key("a colon in the project", key_json("a", "x:"),
              {{"key.project", "invalid project \"x:\"" + kSegment}}),
      bad_key("64 letters", key_json(long_name),
              {{"key.domain", "invalid domain \"" + long_name + "\"" + kSegment}}),
      bad_key("a dash in front", key_json("-a"),
              {{"key.domain", "invalid domain \"-a\"" + kSegment}}),
      bad_key("a dot at the end", key_json("a."),
              {{"key.domain", "invalid domain \"a.\"" + kSegment}}),
      bad_key("a blank", key_json(" "), {{"key.domain", "invalid domain \" \"" + kSegment}}),
      bad_key("not ASCII", key_json("größe"),
              {{"key.domain", "invalid domain \"größe\"" + kSegment}}),
      bad_key("U+0000", key_json("a" + kNul),
              {{"key.domain", "invalid domain \"a\\x00\"" + kSegment}}),
      bad_key("a line feed and a quote", key_json("a\n\"b"),
              {{"key.domain", "invalid domain \"a\\n\\\"b\"" + kSegment}}),
      bad_key("all of it", Json::object({{"org", "\n"}, {"project", "-"}}),
              {{"key.domain", "a project-scope key requires a domain"},
               {"key.project", "invalid project \"-\"" + kSegment},
               {"key.org", kOrg}}),
      bad_key("an org of 64 bytes", org(std::string(64, 'o')), {{"key.org", kOrg}}),
      bad_key("an org of 32 characters, 64 bytes", org([] {
                std::string name;
                for (int i = 0; i < 32; ++i) name += "ö";
                return name;
              }()),
              {{"key.org", kOrg}}),
      bad_key("an org with U+0000", org("a" + kNul), {{"key.org", kOrg}}),
      bad_key("an org with a tab", org("a\tb"), {{"key.org", kOrg}}),
      bad_key("an org with DEL", org("a\x7f"), {{"key.org", kOrg}}),
      bad_key("an org with U+0085", org("a\xc2\x85"), {{"key.org", kOrg}}),
  };
}

std::vector<Case> value_cases() {
  const auto refused = [](std::string path, std::string rule) {
    return Violations{{path, "invalid " + path + rule}};
  };
  const auto nul = [&](std::string path) { return refused(path, ": must not contain U+0000"); };
  const auto concurrency = [](const char* digits) {
    return bad(std::string("concurrency ") + digits,
               settings_with({{"run.maxActionConcurrency", integer(digits)}}),
               {{"run.max_action_concurrency",
                 "invalid max_action_concurrency " + std::string(digits) + kConcurrency}});
  };
  const std::string cpu = "task_resource.min.cpu";
  const std::string accelerator = "task_resource.default_accelerator";
  return {
      bad("no settings", Json(), {{"settings", "settings is required"}}),
      bad("U+0000 in a text", settings_with({{"run.defaultQueue", text("a" + kNul)}}),
          nul("run.default_queue")),
      bad("U+0000 in a value that is not used",
          settings_with({{"run.runBaseDir", Json::object({{"stringValue", kNul}})}}),
          nul("run.run_base_dir")),
      bad("U+0000 in a map's key",
          settings_with({{"environmentVariables", map({{"A" + kNul, "v"}})}}),
          {{"environment_variables[\"A\\x00\"]",
            "invalid environment_variables[\"A\\x00\"]: must not contain U+0000"},
           {"environment_variables",
            "invalid environment_variables \"A\\x00\": a key must be letters, digits, '-', '_' or "
            "'.', not start with a digit, and not be '.' or '..'"}}),
      bad("U+0000 in a map's value", settings_with({{"environmentVariables", map({{"A", kNul}})}}),
          nul("environment_variables[\"A\"]")),
      bad("state 3",
          settings_with({{"run.defaultQueue", Json::object({{"state", Json::number(3)}})}}),
          {{"run.default_queue.state", "invalid run.default_queue.state 3"}}),
      bad("state -1", settings_with({{"labels", Json::object({{"state", Json::number(-1)}})}}),
          {{"labels.state", "invalid labels.state -1"}}),
      concurrency("1"),
      concurrency("-1"),
      concurrency("4294967296"),
      concurrency("9223372036854775807"),
      bad("a word", settings_with({{"taskResource.min.cpu", quantity("apple")}}),
          refused(cpu, " \"apple\": " + kFormat)),
      bad("nothing", settings_with({{"taskResource.min.cpu", quantity("")}}),
          refused(cpu, " \"\": " + kFormat)),
      bad("an unknown suffix", settings_with({{"taskResource.max.storage", quantity("1Kii")}}),
          refused("task_resource.max.storage", " \"1Kii\": unable to parse quantity's suffix")),
      bad("an exponent beyond bounds",
          settings_with({{"taskResource.min.cpu", quantity("1e1001")}}),
          refused(cpu, " \"1e1001\": unable to parse quantity's suffix")),
      bad("an unknown device",
          settings_with({{"taskResource.defaultAccelerator", device("toaster")}}),
          {{accelerator + ".device", "invalid " + accelerator + " device \"toaster\"" + kDevice}}),
      bad("a device in the wrong case",
          settings_with({{"taskResource.defaultAccelerator", device("H100")}}),
          {{accelerator + ".device", "invalid " + accelerator + " device \"H100\"" + kDevice +
                                         " (did you mean \"nvidia-h100\"?)"}}),
      bad("a negative quantity", settings_with({{"taskResource.min.cpu", quantity("-1m")}}),
          refused(cpu, " \"-1m\": must not be negative")),
      bad("a minimum above the maximum",
          settings_with({{"taskResource.min.memory", quantity("1Gi")},
                         {"taskResource.max.memory", quantity("1G")}}),
          refused("task_resource.min.memory",
                  " \"1Gi\": must not be above task_resource.max.memory \"1G\"")),
      bad("a label's key", settings_with({{"labels", map({{"a/b/c", "v"}})}}),
          refused("labels", " \"a/b/c\": " + kQualified)),
      bad("a label's value", settings_with({{"labels", map({{"team", "a b"}})}}),
          refused("labels[\"team\"]",
                  " \"a b\": must be empty or at most 63 letters, digits, '-', '_' or '.', "
                  "starting and ending with a letter or digit")),
      bad("an annotation's key", settings_with({{"annotations", map({{"", "v"}})}}),
          refused("annotations", " \"\": " + kQualified)),
      bad("a variable's name", settings_with({{"environmentVariables", map({{"1A", "v"}})}}),
          refused("environment_variables",
                  " \"1A\": a key must be letters, digits, '-', '_' or '.', not start with a "
                  "digit, and not be '.' or '..'")),
      bad("a service account", settings_with({{"security.serviceAccount", text("Robot")}}),
          refused("security.service_account", " \"Robot\"" + kName)),
      bad("a pod template", settings_with({{"podTemplateName", text("a..b")}}),
          refused("pod_template_name", " \"a..b\"" + kName)),
      bad("1,001 entries", settings_with({{"environmentVariables", big_map(1001)}}),
          refused("environment_variables", ": must have at most 1000 entries, has 1001")),
      bad("annotations of 257 KiB",
          settings_with({{"annotations", map({{"a", std::string(257 * 1024, 'x')}})}}),
          refused("annotations",
                  ": must take at most 262144 bytes, keys and values together, takes 263169")),
  };
}

/// Several faults, to be told in the order of the checks and not of the fields.
Case many_faults() {
  return {"many faults",
          Json::object({{"project", "p"}}),
          settings_with({{"podTemplateName", text("A")},
                         {"labels", map({{"-", "v"}})},
                         {"taskResource.max.gpu", quantity("x")},
                         {"taskResource.min.storage", quantity("y")},
                         {"run.maxActionConcurrency", integer("1")},
                         {"run.runBaseDir", text(kNul)}}),
          {{"key.domain", "a project-scope key requires a domain"},
           {"run.run_base_dir", "invalid run.run_base_dir: must not contain U+0000"},
           {"run.max_action_concurrency", "invalid max_action_concurrency 1" + kConcurrency},
           {"task_resource.min.storage", "invalid task_resource.min.storage \"y\": " + kFormat},
           {"task_resource.max.gpu", "invalid task_resource.max.gpu \"x\": " + kFormat},
           {"labels", "invalid labels \"-\": " + kQualified},
           {"pod_template_name", "invalid pod_template_name \"A\"" + kName}}};
}

/// Holds an answer against what is wrong: code, status, message, and each violation in the detail,
/// in its bytes and in its readable form.
void check_refused(const HttpAnswer& answer, const Violations& violations) {
  BOOST_TEST(answer.status == 400);
  BOOST_TEST(answer.header("Content-Type") == "application/json");
  BOOST_TEST(answer.code() == "invalid_argument", answer.body);
  BOOST_TEST(answer.message() == violations.front().second);
  if (answer.code() != "invalid_argument") return;
  const Json body = answer.json();
  const Json* details = body.find("details");
  BOOST_TEST_REQUIRE((details != nullptr && details->elements().size() == 1), answer.body);
  const Json& detail = details->elements()[0];
  BOOST_TEST(detail.at("type").text() == "google.rpc.BadRequest");
  BOOST_TEST(detail.at("value").text().find('=') == std::string::npos);
  google::rpc::BadRequest told;
  const auto bytes = decode_base64(detail.at("value").text());
  BOOST_TEST_REQUIRE((bytes && told.ParseFromString(*bytes)));
  Violations found;
  for (const auto& violation : told.field_violations())
    found.emplace_back(violation.field(), violation.description());
  BOOST_TEST((found == violations), told.ShortDebugString());
  BOOST_TEST(from_binary(*google::rpc::BadRequest::descriptor(), *bytes) == detail.at("debug"));
}

/// Sends a request in both codecs.
void check_both(Service& service, const std::string& method, const Json& request,
                const Violations& violations) {
  BOOST_TEST_CONTEXT(method << " in JSON")
  check_refused(service.client.call(method, request), violations);
  BOOST_TEST_CONTEXT(method << " in binary")
  check_refused(
      service.client.call_binary(method, to_binary(*settings_method(method).input_type(), request)),
      violations);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_request_that_breaks_a_rule, Service)

BOOST_AUTO_TEST_CASE(about_keys_is_refused_by_every_method) {
  for (const Case& row : key_cases()) {
    BOOST_TEST_CONTEXT(row.name) {
      Json read = Json::object();
      if (row.key.kind() != Json::Kind::kNull) read["key"] = row.key;
      check_both(*this, "GetSettings", read, row.violations);
      check_both(*this, "GetSettingsForEdit", read, row.violations);
      Json write = read;
      write["settings"] = row.settings;
      check_both(*this, "CreateSettings", write, row.violations);
      write["version"] = "1";
      check_both(*this, "UpdateSettings", write, row.violations);
    }
  }
}

BOOST_AUTO_TEST_CASE(about_settings_is_refused_by_both_writes) {
  std::vector<Case> cases = value_cases();
  cases.push_back(many_faults());
  for (const Case& row : cases) {
    BOOST_TEST_CONTEXT(row.name) {
      Json write = Json::object({{"key", row.key}});
      if (row.settings.kind() != Json::Kind::kNull) write["settings"] = row.settings;
      check_both(*this, "CreateSettings", write, row.violations);
      write["version"] = "1";
      check_both(*this, "UpdateSettings", write, row.violations);
    }
  }
}

BOOST_AUTO_TEST_CASE(about_the_size_of_a_record) {
  const Json settings =
      settings_with({{"environmentVariables", big_map(11, std::string(100'000, 'x'))}});
  const auto answer = client.call("UpdateSettings", update_json(key_json("a"), settings, 1));
  BOOST_TEST(answer.code() == "invalid_argument");
  BOOST_TEST(answer.message().starts_with("invalid settings: must take at most 1048576 bytes"),
             answer.message());
}

BOOST_AUTO_TEST_CASE(about_the_version_of_an_update) {
  const std::string required = "a version is required; use CreateSettings for a new record";
  Json update = create_json(key_json("a"), queue_settings("r"));
  check_both(*this, "UpdateSettings", update, {{"version", required}});
  update["version"] = "0";
  check_both(*this, "UpdateSettings", update, {{"version", required}});
  update["settings"]["labels"]["state"] = Json::number(9);
  check_both(*this, "UpdateSettings", update,
             {{"labels.state", "invalid labels.state 9"}, {"version", required}});
}

BOOST_AUTO_TEST_CASE(only_where_its_leaf_is_not_used_is_none) {
  // What INHERIT and UNSET carry is not looked at; it is not stored either.
  Json settings =
      settings_with({{"taskResource.min.cpu", Json::object({{"quantityValue", "x"}})},
                     {"run.maxActionConcurrency",
                      Json::object({{"state", "SETTING_STATE_UNSET"}, {"intValue", "1"}})}});
  const auto answer = client.call("CreateSettings", create_json(key_json("b"), settings));
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.json().at("settingsRecord").at("settings").dump() ==
             R"({"run":{"maxActionConcurrency":{"state":"SETTING_STATE_UNSET"}}})");
  events = "2";
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_version, Service)

BOOST_AUTO_TEST_CASE(beyond_all_numbers_is_a_conflict_or_no_number) {
  const std::pair<const char*, const char*> rows[] = {
      {"2", "failed_precondition"},
      {"9223372036854775807", "failed_precondition"},
      {"9223372036854775808", "failed_precondition"},
      {"18446744073709551615", "failed_precondition"},
      {"18446744073709551616", "invalid_argument"},
      {"-1", "invalid_argument"},
      {"1.5", "invalid_argument"},
      {"", "invalid_argument"},
      {"one", "invalid_argument"},
  };
  for (const auto& [version, code] : rows) {
    BOOST_TEST_CONTEXT("version " << version) {
      Json update = create_json(key_json("a"), queue_settings("r"));
      update["version"] = version;
      const auto as_text = client.call("UpdateSettings", update);
      BOOST_TEST(as_text.code() == code, as_text.body);
      if (*version == '\0' || *version == 'o') continue;
      update["version"] = Json::number(std::string(version));
      const auto as_number = client.call("UpdateSettings", update);
      BOOST_TEST(as_number.code() == code, as_number.body);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(an_org, Service)

// It is echoed and never stored: every org has the same records.
BOOST_AUTO_TEST_CASE(is_no_part_of_a_key) {
  const std::string longest(63, 'o');
  for (const std::string& org : {std::string("acme"), std::string("größe: \"ja\" /"), longest}) {
    Json key = Json::object({{"org", org}, {"domain", "a"}});
    const auto read = client.call("GetSettings", Json::object({{"key", key}}));
    BOOST_TEST(read.json().at("settingsRecord").at("key") == key);
    BOOST_TEST(read.body.find("\"stringValue\":\"q\"") != std::string::npos);
    const auto create = client.call("CreateSettings", create_json(key, Json::object()));
    BOOST_TEST(create.code() == "already_exists");
    BOOST_TEST(create.message() == "settings already exists: v1::a:");
  }
  BOOST_TEST(query_one(database.conninfo(),
                       "SELECT count(*) FROM writ.events WHERE"
                       " position(convert_to('acme', 'UTF8') IN"
                       " convert_to(envelope || payload, 'UTF8')) > 0") == "0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
