#include "schema/validate.h"

#include <boost/test/unit_test.hpp>

#include "schema/protojson.h"
#include "tests/schema/json_outcome.h"
#include "tests/schema/settings_tree.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;
using namespace std::string_literals;

using Messages = std::vector<std::string>;

Messages messages_of(const std::vector<Violation>& violations) {
  Messages messages;
  for (const Violation& violation : violations) messages.push_back(violation.message);
  return messages;
}

st::Settings settings_of(const std::string& json) {
  st::Settings settings;
  const auto read = read_json(json, &settings, JsonMode::kRequest);
  BOOST_REQUIRE_MESSAGE(!read.error, json << ": " << outcome(read));
  BOOST_REQUIRE_MESSAGE(read.unknown_fields.empty(), json << ": " << outcome(read));
  return settings;
}

Messages complaints(const std::string& json) {
  const st::Settings settings = settings_of(json);
  return messages_of(validate_settings(&settings));
}

Messages key_complaints(const std::string& org, const std::string& domain,
                        const std::string& project) {
  st::SettingsKey key;
  key.set_org(org);
  key.set_domain(domain);
  key.set_project(project);
  return messages_of(validate_key(&key));
}

/// A leaf with a value, as JSON.
std::string value(const std::string& field, const std::string& json) {
  return R"({"state":"SETTING_STATE_VALUE",")" + field + "\":" + json + "}";
}

std::string quantity(const std::string& text) { return value("quantityValue", '"' + text + '"'); }

std::string map(const std::string& entries) {
  return value("mapValue", "{\"entries\":" + entries + "}");
}

struct Row {
  std::string json;
  Messages messages;
};

void check_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.json) {
      BOOST_TEST(complaints(row.json) == row.messages, boost::test_tools::per_element());
    }
  }
}

const std::string kSegmentRule =
    ": must be 1 to 63 letters, digits, '-', '_' or '.', starting and ending with a letter or "
    "digit";
const std::string kOrgRule =
    "invalid org: must be at most 63 bytes of UTF-8 without control characters";

BOOST_AUTO_TEST_SUITE(validation)

BOOST_AUTO_TEST_CASE(a_key_is_required) {
  BOOST_TEST((validate_key(nullptr) == std::vector<Violation>{{"key", "key is required"}}));
}

BOOST_AUTO_TEST_CASE(well_formed_keys_pass) {
  BOOST_TEST(key_complaints("", "", "").empty());
  BOOST_TEST(key_complaints("acme", "production", "").empty());
  BOOST_TEST(key_complaints("Acme & Söhne", "a", "A.b_c-9").empty());
  BOOST_TEST(key_complaints(std::string(63, 'o'), std::string(63, 'd'), "p").empty());
}

BOOST_AUTO_TEST_CASE(each_broken_key_is_refused_with_its_message) {
  const auto is = [](const Messages& got, const Messages& expected) {
    BOOST_TEST(got == expected, boost::test_tools::per_element());
  };
  is(key_complaints("", "", "p"), {"a project-scope key requires a domain"});
  is(key_complaints("", "a:b", ""), {"invalid domain \"a:b\"" + kSegmentRule});
  is(key_complaints("", "d", "-p"), {"invalid project \"-p\"" + kSegmentRule});
  is(key_complaints("", "d.", ""), {"invalid domain \"d.\"" + kSegmentRule});
  is(key_complaints("", "d\0"s, ""), {"invalid domain \"d\\x00\"" + kSegmentRule});
  is(key_complaints("", "\u00e9", ""), {"invalid domain \"\u00e9\"" + kSegmentRule});
  is(key_complaints("", std::string(64, 'd'), ""),
     {"invalid domain \"" + std::string(64, 'd') + "\"" + kSegmentRule});
  for (const std::string& org :
       {std::string(64, 'o'), "a\nb"s, "a\0b"s, "\x7f"s, "\u0085"s, "\xff"s, "\xed\xa0\x80"s}) {
    is(key_complaints(org, "", ""), {kOrgRule});
  }
}

BOOST_AUTO_TEST_CASE(all_that_is_wrong_with_a_key_is_said_in_order) {
  st::SettingsKey key;
  key.set_org("\n");
  key.set_project("a b");
  const std::vector<Violation> expected{{"key.domain", "a project-scope key requires a domain"},
                                        {"key.project", "invalid project \"a b\"" + kSegmentRule},
                                        {"key.org", kOrgRule}};
  BOOST_TEST((validate_key(&key) == expected));
}

BOOST_AUTO_TEST_CASE(settings_are_required) {
  BOOST_TEST(
      (validate_settings(nullptr) == std::vector<Violation>{{"settings", "settings is required"}}));
  BOOST_TEST(complaints("{}").empty());
}

BOOST_AUTO_TEST_CASE(u_0000_is_refused_wherever_it_stands) {
  check_rows({
      {R"({"run":{"defaultQueue":{"stringValue":"a\u0000"}}})",
       {"invalid run.default_queue: must not contain U+0000"}},
      {R"({"labels":)" + map(R"({"a\u0000":"1"})") + "}",
       {"invalid labels[\"a\\x00\"]: must not contain U+0000",
        "invalid labels \"a\\x00\": a key must be 1 to 63 letters, digits, '-', '_' or '.', "
        "starting and ending with a letter or digit, after an optional DNS name and '/'"}},
      {R"({"annotations":{"mapValue":{"entries":{"a":"\u0000"}}}})",
       {"invalid annotations[\"a\"]: must not contain U+0000"}},
      {R"({"taskResource":{"min":{"cpu":{"quantityValue":"\u0000"}}}})",
       {"invalid task_resource.min.cpu: must not contain U+0000"}},
      {R"({"taskResource":{"defaultAccelerator":{"acceleratorValue":{"device":"\u0000",)"
       R"("partitionSize":"\u0000"}}}})",
       {"invalid task_resource.default_accelerator.device: must not contain U+0000",
        "invalid task_resource.default_accelerator.partition_size: must not contain U+0000"}},
  });
}

BOOST_AUTO_TEST_CASE(a_state_that_is_no_state_is_refused) {
  check_rows({
      {R"({"run":{"defaultQueue":{"state":3}},"labels":{"state":-1}})",
       {"invalid run.default_queue.state 3", "invalid labels.state -1"}},
  });
  for (const LeafPlace& place : all_leaf_places()) {
    st::Settings settings;
    fill_leaf(place.make_in(&settings), 7, "");
    const std::vector<Violation> expected{
        {place.path() + ".state", "invalid " + place.path() + ".state 7"}};
    BOOST_TEST((validate_settings(&settings) == expected), place.path());
  }
}

BOOST_AUTO_TEST_CASE(action_concurrency_has_a_range_with_a_gap) {
  const auto of = [](const std::string& number) {
    return complaints(R"({"run":{"maxActionConcurrency":)" + value("intValue", '"' + number + '"') +
                      "}}");
  };
  for (const char* number : {"0", "2", "3", "4294967295"}) BOOST_TEST(of(number).empty(), number);
  for (const std::string number :
       {"1", "-1", "4294967296", "9223372036854775807", "-9223372036854775808"}) {
    BOOST_TEST(of(number) == Messages{"invalid max_action_concurrency " + number +
                                      ": must be 0 (unlimited) or between 2 and 4294967295"},
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(quantities_are_refused_with_the_words_of_kubernetes) {
  const auto cpu = [](const std::string& text) {
    return R"({"taskResource":{"min":{"cpu":)" + quantity(text) + "}}}";
  };
  const std::string format =
      ": quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  check_rows({
      {cpu("apple"), {"invalid task_resource.min.cpu \"apple\"" + format}},
      {cpu(""), {"invalid task_resource.min.cpu \"\"" + format}},
      {cpu("1\\n"), {"invalid task_resource.min.cpu \"1\\n\"" + format}},
      {cpu("1K"), {"invalid task_resource.min.cpu \"1K\": unable to parse quantity's suffix"}},
      {cpu(std::string(1001, '1')),
       {"invalid task_resource.min.cpu \"" + std::string(1001, '1') +
        "\": unable to parse numeric part of quantity"}},
      {cpu("-"), {}},
      {cpu("500m"), {}},
  });
}

BOOST_AUTO_TEST_CASE(quantities_are_checked_min_first_then_max_by_dimension) {
  const std::string group = R"({"storage":)" + quantity("x1") + R"(,"memory":)" + quantity("x2") +
                            R"(,"gpu":)" + quantity("x3") + R"(,"cpu":)" + quantity("x4") + "}";
  const st::Settings settings =
      settings_of(R"({"taskResource":{"max":)" + group + R"(,"min":)" + group + "}}");
  std::vector<std::string> paths;
  for (const Violation& violation : validate_settings(&settings)) paths.push_back(violation.path);
  const std::vector<std::string> expected{"task_resource.min.cpu",    "task_resource.min.gpu",
                                          "task_resource.min.memory", "task_resource.min.storage",
                                          "task_resource.max.cpu",    "task_resource.max.gpu",
                                          "task_resource.max.memory", "task_resource.max.storage"};
  BOOST_TEST(paths == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(accelerators_are_those_of_the_list) {
  const auto device = [](const std::string& name) {
    return R"({"taskResource":{"defaultAccelerator":)" +
           value("acceleratorValue", R"({"device":")" + name + "\"}") + "}}";
  };
  const auto refused = [](const std::string& name, const std::string& hint) {
    return Messages{"invalid task_resource.default_accelerator device \"" + name +
                    "\": must be one of the flyteidl2.core.AcceleratorModel accelerator_name "
                    "values" +
                    hint};
  };
  check_rows({
      {device("nvidia-h100"), {}},
      {device("apple-silicon"), {}},
      {device("H100"), refused("H100", " (did you mean \"nvidia-h100\"?)")},
      {device("NVIDIA-H100"), refused("NVIDIA-H100", " (did you mean \"nvidia-h100\"?)")},
      {device("AMAZON_INF1"), refused("AMAZON_INF1", " (did you mean \"aws-inf1\"?)")},
      {device("quantum"), refused("quantum", "")},
      {device(""), refused("", "")},
      {R"({"taskResource":{"defaultAccelerator":{"state":"SETTING_STATE_VALUE"}}})",
       refused("", "")},
  });
}

BOOST_AUTO_TEST_CASE(negative_quantities_are_refused) {
  check_rows({
      {R"({"taskResource":{"min":{"cpu":)" + quantity("-1") + R"(},"max":{"memory":)" +
           quantity("-1Gi") + "}}}",
       {"invalid task_resource.min.cpu \"-1\": must not be negative",
        "invalid task_resource.max.memory \"-1Gi\": must not be negative"}},
      {R"({"taskResource":{"min":{"cpu":)" + quantity("-0") + "}}}", {}},
  });
}

BOOST_AUTO_TEST_CASE(min_is_at_most_max_by_exact_comparison) {
  const auto pair = [](const std::string& min, const std::string& max) {
    return R"({"taskResource":{"min":{"memory":)" + quantity(min) + R"(},"max":{"memory":)" +
           quantity(max) + "}}}";
  };
  check_rows({
      {pair("1G", "1Gi"), {}},
      {pair("1000m", "1"), {}},
      {pair("1Gi", "1G"),
       {"invalid task_resource.min.memory \"1Gi\": must not be above task_resource.max.memory "
        "\"1G\""}},
      {pair("9007199254740993", "9007199254740992"),
       {"invalid task_resource.min.memory \"9007199254740993\": must not be above "
        "task_resource.max.memory \"9007199254740992\""}},
      // Only what has a value is compared, and only with its own dimension.
      {R"({"taskResource":{"min":{"memory":)" + quantity("2") +
           R"(},"max":{"memory":{"state":"SETTING_STATE_UNSET","quantityValue":"1"}}}})",
       {}},
      {R"({"taskResource":{"min":{"memory":)" + quantity("2") + R"(},"max":{"cpu":)" +
           quantity("1") + "}}}",
       {}},
      {R"({"taskResource":{"max":{"cpu":)" + quantity("1") + "}}}", {}},
  });
}

BOOST_AUTO_TEST_CASE(map_keys_and_values_have_the_syntax_of_kubernetes) {
  const std::string name_rule =
      ": a key must be 1 to 63 letters, digits, '-', '_' or '.', starting and ending with a letter "
      "or digit, after an optional DNS name and '/'";
  check_rows({
      {R"({"labels":)" + map(R"({"z z":"ok","a a":"ok","fine":"not fine!"})") + "}",
       {"invalid labels \"a a\"" + name_rule,
        "invalid labels[\"fine\"] \"not fine!\": must be empty or at most 63 letters, digits, '-', "
        "'_' or '.', starting and ending with a letter or digit",
        "invalid labels \"z z\"" + name_rule}},
      {R"({"annotations":)" + map(R"({"":"any value at all\n","Example.com/X":""})") + "}",
       {"invalid annotations \"\"" + name_rule}},
      {R"({"environmentVariables":)" + map(R"({"1A":"","LOG_LEVEL":"a b\n"})") + "}",
       {"invalid environment_variables \"1A\": a key must be letters, digits, '-', '_' or '.', not "
        "start with a digit, and not be '.' or '..'"}},
  });
}

BOOST_AUTO_TEST_CASE(texts_have_the_syntax_of_kubernetes) {
  const std::string dns_rule =
      ": must be at most 253 lower-case letters, digits, '-' or '.', each part between dots "
      "starting "
      "and ending with a letter or digit";
  check_rows({
      {R"({"security":{"serviceAccount":)" + value("stringValue", "\"Admin\"") +
           R"(},"podTemplateName":)" + value("stringValue", "\"a_b\"") + "}",
       {"invalid security.service_account \"Admin\"" + dns_rule,
        "invalid pod_template_name \"a_b\"" + dns_rule}},
      {R"({"security":{"serviceAccount":)" + value("stringValue", "\"\"") + "}}", {}},
      {R"({"app":{"appDnsStrategy":)" + value("stringValue", "\"Shared\"") + "}}",
       {"invalid app.app_dns_strategy \"Shared\": must be empty, \"shared\" or "
        "\"dataplane_specific\""}},
      {R"({"app":{"appDnsStrategy":)" + value("stringValue", "\"dataplane_specific\"") + "}}", {}},
      {R"({"app":{"appDnsStrategy":)" + value("stringValue", "\"\"") + "}}", {}},
  });
}

std::string entries(int count, std::size_t value_size) {
  std::string json = "{";
  for (int i = 0; i < count; ++i) {
    json += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":\"" + std::string(value_size, 'v') +
            "\"";
  }
  return json + "}";
}

BOOST_AUTO_TEST_CASE(maps_have_at_most_1000_entries) {
  for (const std::string name : {"labels", "annotations", "environmentVariables"}) {
    BOOST_TEST(complaints("{\"" + name + "\":" + map(entries(1000, 1)) + "}").empty(), name);
  }
  check_rows({{R"({"labels":)" + map(entries(1001, 1)) + "}",
               {"invalid labels: must have at most 1000 entries, has 1001"}}});
}

BOOST_AUTO_TEST_CASE(annotations_take_at_most_256_kib_in_all) {
  // The keys "k0" to "k3" are 8 of the bytes.
  const auto of = [](std::size_t extra) {
    return complaints(R"({"annotations":)" +
                      map(R"({"k0":")" + std::string(65536 - 8 + extra, 'v') + R"(",)" +
                          entries(4, 65536).substr(entries(1, 65536).size())) +
                      "}");
  };
  BOOST_TEST(of(0).empty());
  BOOST_TEST(
      of(1) == Messages{"invalid annotations: must take at most 262144 bytes, keys and values "
                        "together, takes 262145"},
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_record_takes_at_most_1_mib_after_pruning) {
  st::Settings settings;
  auto* queue = settings.mutable_run()->mutable_default_queue();
  queue->set_string_value(std::string(2 << 20, 'q'));
  BOOST_TEST(validate_settings(&settings).empty());
  queue->set_state(st::SETTING_STATE_VALUE);
  queue->set_string_value("q");
  const std::size_t overhead = write_json(settings).size() - 1;
  queue->set_string_value(std::string((1 << 20) - overhead, 'q'));
  BOOST_REQUIRE_EQUAL(write_json(settings).size(), 1U << 20);
  BOOST_TEST(validate_settings(&settings).empty());
  queue->mutable_string_value()->push_back('q');
  BOOST_TEST(
      messages_of(validate_settings(&settings)) ==
          Messages{"invalid settings: must take at most 1048576 bytes as JSON, takes 1048577"},
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_record_counts_as_the_json_that_is_stored) {
  st::Settings settings;
  auto* queue = settings.mutable_run()->mutable_default_queue();
  queue->set_state(st::SETTING_STATE_VALUE);
  queue->set_string_value(std::string(200'000, '\x01'));  // six bytes each in JSON
  const auto messages = messages_of(validate_settings(&settings));
  BOOST_REQUIRE_EQUAL(messages.size(), 1U);
  BOOST_TEST(messages[0].starts_with("invalid settings: must take at most 1048576 bytes"));
}

BOOST_AUTO_TEST_CASE(leaves_without_a_value_are_not_checked) {
  for (const char* state : {"SETTING_STATE_INHERIT", "SETTING_STATE_UNSET"}) {
    const std::string s = "{\"state\":\"" + std::string(state) + "\",";
    check_rows({
        {R"({"run":{"maxActionConcurrency":)" + s + R"("intValue":1}}})", {}},
        {R"({"taskResource":{"min":{"cpu":)" + s + R"("quantityValue":"apple"}}}})", {}},
        {R"({"taskResource":{"defaultAccelerator":)" + s +
             R"("acceleratorValue":{"device":"x"}}}})",
         {}},
        {R"({"labels":)" + s + R"("mapValue":{"entries":{"a b":"c d"}}}})", {}},
        {R"({"podTemplateName":)" + s + R"("stringValue":"A B"}})", {}},
    });
  }
}

BOOST_AUTO_TEST_CASE(all_that_is_wrong_is_said_in_the_order_of_the_checks) {
  const st::Settings settings = settings_of(
      R"({"run":{"defaultQueue":{"state":9},"maxActionConcurrency":)" + value("intValue", "1") +
      R"(},"security":{"serviceAccount":)" + value("stringValue", "\"A\"") +
      R"(},"taskResource":{"min":{"cpu":)" + quantity("-1") + R"(,"gpu":)" + quantity("3") +
      R"(,"memory":)" + quantity("apple") + R"(},"max":{"gpu":)" + quantity("2") +
      R"(},"defaultAccelerator":)" + value("acceleratorValue", R"({"device":"x"})") +
      R"(},"labels":)" + map(R"({"a b":"1","nul":"\u0000"})") + R"(,"environmentVariables":)" +
      map(entries(1001, 0)) + "}");
  std::vector<std::string> paths;
  for (const Violation& violation : validate_settings(&settings)) paths.push_back(violation.path);
  const std::vector<std::string> expected{"labels[\"nul\"]",
                                          "run.default_queue.state",
                                          "run.max_action_concurrency",
                                          "task_resource.min.memory",
                                          "task_resource.default_accelerator.device",
                                          "task_resource.min.cpu",
                                          "task_resource.min.gpu",
                                          "labels",
                                          "labels[\"nul\"]",
                                          "security.service_account",
                                          "environment_variables"};
  BOOST_TEST(paths == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_huge_value_is_cut_in_the_message) {
  const auto messages = complaints(R"({"taskResource":{"min":{"cpu":)" +
                                   quantity(std::string(1023, 'x') + "\u00e9" + "yyy") + "}}}");
  BOOST_REQUIRE_EQUAL(messages.size(), 1U);
  const std::string start = "invalid task_resource.min.cpu \"" + std::string(1023, 'x') + "\"...: ";
  BOOST_TEST(messages[0].substr(0, start.size()) == start);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
