#include "schema/leaf_diff.h"

#include <boost/test/unit_test.hpp>

#include "schema/protojson.h"

namespace writ {
namespace {

flyteidl2::settings::Settings settings(const std::string& json) {
  flyteidl2::settings::Settings out;
  const JsonRead read = read_json(json, &out, JsonMode::kRequest);
  BOOST_REQUIRE_MESSAGE(!read.error, json);
  return out;
}

std::string shown(const audit::v1::LeafValue& value) {
  if (value.state() == flyteidl2::settings::SETTING_STATE_UNSET) return "unset";
  return value.has_value() ? write_json(value.value()) : "set";
}

std::string differences(const std::string& before, const std::string& after) {
  std::string out;
  for (const audit::v1::LeafChange& change : diff_settings(settings(before), settings(after)))
    out += change.path() + " " + (change.has_before() ? shown(change.before()) : "-") + " > " +
           (change.has_after() ? shown(change.after()) : "-") + "; ";
  return out;
}

std::string queue(const std::string& name) {
  return R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":")" + name +
         "\"}}}";
}

std::string labels(const std::string& entries) {
  return R"({"labels":{"state":"SETTING_STATE_VALUE","mapValue":{"entries":)" + entries + "}}}";
}

constexpr char kNoLabels[] = R"({"labels":{"state":"SETTING_STATE_UNSET"}})";
constexpr char kNoQueue[] = R"({"run":{"defaultQueue":{"state":"SETTING_STATE_UNSET"}}})";

struct Row {
  const char* name;
  std::string before, after, expected;
};

BOOST_AUTO_TEST_SUITE(leaf_diff)

BOOST_AUTO_TEST_CASE(tells_each_leaf_and_each_entry_that_differs) {
  const Row rows[] = {
      {"nothing", "{}", "{}", ""},
      {"the same", queue("a"), queue("a"), ""},
      {"a first value", "{}", queue("a"), "run.default_queue - > \"a\"; "},
      {"another value", queue("a"), queue("b"), "run.default_queue \"a\" > \"b\"; "},
      {"taken back", queue("a"), kNoQueue, "run.default_queue \"a\" > unset; "},
      {"left to the broader scope", kNoQueue, "{}", "run.default_queue unset > -; "},
      {"a map from nothing", "{}", labels(R"({"b":"2","a":"1"})"),
       "labels - > set; labels[\"a\"] - > \"1\"; labels[\"b\"] - > \"2\"; "},
      {"entries one by one", labels(R"({"a":"1","b":"2","c":"3"})"),
       labels(R"({"a":"1","b":"9","d":"4"})"),
       "labels[\"b\"] \"2\" > \"9\"; labels[\"c\"] \"3\" > -; labels[\"d\"] - > \"4\"; "},
      {"a map taken back", labels(R"({"a":"1"})"), kNoLabels,
       "labels set > unset; labels[\"a\"] \"1\" > -; "},
      {"an integer", "{}",
       R"({"run":{"maxActionConcurrency":{"state":"SETTING_STATE_VALUE","intValue":"7"}}})",
       "run.max_action_concurrency - > \"7\"; "},
      {"groups in the order of their fields", "{}",
       R"({"labels":{"state":"SETTING_STATE_UNSET"},"run":{"defaultQueue":{"state":"SETTING_STATE_UNSET"}}})",
       "run.default_queue - > unset; labels - > unset; "},
  };
  for (const Row& row : rows)
    BOOST_TEST_CONTEXT(row.name) BOOST_TEST(differences(row.before, row.after) == row.expected);
}

BOOST_AUTO_TEST_CASE(a_path_names_a_setting_an_entry_or_a_group) {
  const auto indexed = [](const std::string& path) {
    const PathFilter filter(path);
    std::string out;
    for (const std::string& one : filter.index_paths()) out += one + " ";
    return out;
  };
  BOOST_TEST(indexed("run.default_queue") == "run.default_queue ");
  BOOST_TEST(indexed("labels") == "labels labels[*] ");
  BOOST_TEST(indexed("labels[\"team\"]") == "labels[\"team\"] ");
  BOOST_TEST(indexed("task_resource.max").starts_with("task_resource.max.cpu "));
  BOOST_TEST(PathFilter("task_resource").matches("task_resource.max.cpu"));
  BOOST_TEST(!PathFilter("task_resource.max").matches("task_resource.maximum"));
  BOOST_TEST(PathFilter("labels").matches("labels[\"team\"]"));
  BOOST_TEST(!PathFilter("labels[\"a\"]").matches("labels[\"ab\"]"));
  BOOST_TEST(PathFilter().matches("anything"));
}

BOOST_AUTO_TEST_CASE(a_path_that_names_nothing_is_refused_with_the_nearest_one) {
  const auto refusal = [](const std::string& path) -> std::string {
    try {
      const PathFilter filter(path);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  BOOST_TEST(refusal("run.default_quue") ==
             "invalid path \"run.default_quue\": there is no such setting (did you mean "
             "\"run.default_queue\"?)");
  BOOST_TEST(refusal("runs") ==
             "invalid path \"runs\": there is no such setting (did you mean \"run\"?)");
  BOOST_TEST(refusal("labels.example.com/\"a\"") ==
             R"(invalid path "labels.example.com/\"a\"": there is no such setting )"
             R"((an entry of this map is written labels["example.com/\"a\""]))");
  for (const char* path : {"labels.", "labels[", "labels[team]", "labels[\"a\""})
    BOOST_TEST(refusal(path).ends_with(" (an entry of this map is written labels[\"name\"])"),
               refusal(path));
  BOOST_TEST(refusal("xyzzy") ==
             "invalid path \"xyzzy\": there is no such setting (it is the path of a setting, the "
             "beginning of some up to a dot, or an entry of a map such as labels[\"name\"])");
  for (const char* path : {"run.", ".run", "run.default_queue.state", "labels[", "labels[\"a\"",
                           "run.default_queue[\"a\"]", "labels.team", "*", "%"})
    BOOST_TEST(!refusal(path).empty(), path);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
