#include "tools/client/settings_file.h"

#include <google/protobuf/util/message_differencer.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <random>

#include "schema/protojson.h"
#include "tools/client/setting.h"
#include "tools/client/setting_value.h"
#include "tools/client/yaml_text.h"

namespace writ::client {
namespace {

namespace fs = flyteidl2::settings;
using google::protobuf::util::MessageDifferencer;

fs::Settings settings_of(const std::string& text) {
  const auto read = read_settings_file(text);
  if (const auto* error = std::get_if<FileError>(&read)) BOOST_FAIL(error->text() + "\n" + text);
  return std::get<fs::Settings>(read);
}

std::string json_of(const std::string& text) { return write_json(settings_of(text)); }

std::string error_of(const std::string& text) {
  const auto read = read_settings_file(text);
  const auto* error = std::get_if<FileError>(&read);
  return error == nullptr ? "" : error->text();
}

fs::Settings from_json(const std::string& json) {
  fs::Settings settings;
  BOOST_REQUIRE(!read_json(json, &settings, JsonMode::kRequest).error);
  return settings;
}

fs::SettingsRecord level(const std::string& domain, const std::string& project,
                         const fs::Settings& settings) {
  fs::SettingsRecord record;
  record.mutable_key()->set_domain(domain);
  record.mutable_key()->set_project(project);
  *record.mutable_settings() = settings;
  return record;
}

/// Texts that some reader of YAML takes for something else than a text.
const std::vector<std::string> kTexts = {
    "",           "default", "~unset",     "~",        "null",     "Null",   "true",   "No",
    "1.50",       "500m",    "0x1f",       "1e3",      ".inf",     "=",      "<<",     "2026-11-30",
    " a",         "a ",      "a: b",       "a #b",     "#",        "- a",    "[a]",    "{a: b}",
    "*a",         "&a",      "!!int 1",    "%a",       "@a",       "`a",     "a\nb",   "a\tb",
    "\"a\"",      "it's",    "a\\nb",      "\\",       "\x01\x7f", "\u0085", "\u2028", "\ufeff",
    "\U0001f600", "ünïcödé", "a,b",        "?",        "|",        ">",      "...",    "---",
    "12:30",      "1_000",   "good night", "s3://b/a", "/a/b",     "\r\n",   "y"};

class RandomFile {
 public:
  explicit RandomFile(unsigned seed) : engine_(seed) {}

  int number(int below) { return std::uniform_int_distribution<int>(0, below - 1)(engine_); }
  const std::string& text() { return kTexts[number(static_cast<int>(kTexts.size()))]; }

  fs::Settings settings() {
    fs::Settings out;
    for (const Setting& setting : all_settings()) {
      if (number(3) == 0) continue;
      google::protobuf::Message* leaf = setting.make_in(&out);
      if (number(4) == 0)
        set_unset(setting, leaf);
      else
        fill(setting, leaf);
    }
    return out;
  }

 private:
  void fill(const Setting& setting, google::protobuf::Message* leaf) {
    using Kind = google::protobuf::FieldDescriptor;
    const auto* reflection = leaf->GetReflection();
    const Kind* field = setting.shape.value;
    reflection->SetEnumValue(leaf, setting.shape.state, fs::SETTING_STATE_VALUE);
    if (field->cpp_type() == Kind::CPPTYPE_STRING)
      reflection->SetString(leaf, field, text());
    else if (field->cpp_type() == Kind::CPPTYPE_BOOL)
      reflection->SetBool(leaf, field, number(2) == 0);
    else if (field->cpp_type() == Kind::CPPTYPE_INT64)
      reflection->SetInt64(leaf, field, static_cast<std::int64_t>(engine_()));
    else if (setting.shape.is_string_map())
      fill_map(static_cast<fs::StringMap*>(reflection->MutableMessage(leaf, field)));
    else
      fill_accelerator(
          static_cast<flyteidl2::core::GPUAccelerator*>(reflection->MutableMessage(leaf, field)));
  }

  void fill_map(fs::StringMap* map) {
    for (int i = number(4); i > 0; --i) (*map->mutable_entries())[text()] = text();
  }

  void fill_accelerator(flyteidl2::core::GPUAccelerator* accelerator) {
    accelerator->set_device(number(2) == 0 ? "nvidia-h100" : text());
    if (number(2) == 0) accelerator->set_accelerator_model(flyteidl2::core::NVIDIA_H100);
    if (number(4) == 0) accelerator->set_device_class(flyteidl2::core::GPUAccelerator::AMD_GPU);
    if (number(4) == 0) accelerator->set_partition_size(text());
    if (number(4) == 0) accelerator->set_unpartitioned(number(2) == 0);
  }

  std::mt19937_64 engine_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_settings_file)

BOOST_AUTO_TEST_CASE(of_any_settings_reads_as_the_same_settings) {
  const char* given = std::getenv("WRIT_SEED");
  const unsigned seed =
      given == nullptr ? std::random_device()() : static_cast<unsigned>(std::stoul(given));
  BOOST_TEST_MESSAGE("WRIT_SEED=" << seed);
  RandomFile random(seed);
  for (int i = 0; i < 400; ++i) {
    std::vector<fs::SettingsRecord> levels;
    for (int depth = random.number(3); depth >= 0; --depth)
      levels.push_back(
          level(levels.empty() ? "" : "d", levels.size() < 2 ? "" : "p", random.settings()));
    const std::string file = write_settings_file(levels);
    const fs::Settings read = settings_of(file);
    BOOST_REQUIRE_MESSAGE(
        MessageDifferencer::Equals(read, levels.back().settings()),
        write_json(levels.back().settings()) + "\n" + write_json(read) + "\n" + file);
    // With an error in front and without it again.
    BOOST_REQUIRE_EQUAL(without_error(with_error({3, "x", "y"}, file)), file);
    BOOST_REQUIRE_EQUAL(write_json(settings_of(with_error({3, "x", "y"}, file))), write_json(read));
  }
}

BOOST_AUTO_TEST_CASE(shows_what_is_overridden_what_is_inherited_and_what_there_is) {
  const fs::Settings instance =
      from_json(R"({"run":{"defaultQueue":{"state":2,"stringValue":"default"},)"
                R"("maxActionConcurrency":{"state":2,"intValue":"5"}},)"
                R"("labels":{"state":2,"mapValue":{"entries":{"team":"red","tier":"1"}}},)"
                R"("annotations":{"state":2,"mapValue":{"entries":{"a":"b"}}}})");
  const fs::Settings domain =
      from_json(R"({"annotations":{"state":2,"mapValue":{"entries":{"c":"d"}}},)"
                R"("security":{"serviceAccount":{"state":1}}})");
  const fs::Settings project =
      from_json(R"({"run":{"defaultQueue":{"state":2,"stringValue":"fast"}},)"
                R"("labels":{"state":2,"mapValue":{"entries":{"team":"blue"}}},)"
                R"("environmentVariables":{"state":1}})");
  const std::string file = write_settings_file(
      {level("", "", instance), level("d", "", domain), level("d", "p", project)});
  const std::string expected_start =
      R"(### Settings for scope: PROJECT(d/p)
## A line that is removed, or made a comment, is inherited from the broader scope.
## The value ~unset takes back what a broader scope says.

### Local overrides
## Queue of a run that names none
run.default_queue: fast
# overridden value: default  ## defined at ORG
## Kubernetes labels of task pods, merged key by key
## Entries merge over the scopes: those of broader scopes hold unless their name is given here.
labels:
  team: blue
  # tier: "1"  ## defined at ORG
## Environment variables of task pods, merged key by key
environment_variables: ~unset

### Inherited settings (remove the # to override them at this scope)
## How many actions of one run may execute at the same time; 0 is unlimited
# run.max_action_concurrency: 5  ## inherited from ORG
## Kubernetes service account that task pods run as
# security.service_account: ~unset  ## inherited from DOMAIN(d)
## Kubernetes annotations of task pods, merged key by key
# annotations:  ## inherited from DOMAIN(d)
#   a: b  ## defined at ORG
#   c: d

### Available settings (remove the # and edit to set them at this scope)
)";
  BOOST_TEST(file.substr(0, expected_start.size()) == expected_start);
  BOOST_TEST(file.find("## CPU, e.g. 500m or 2\n# task_resource.min.cpu: ''\n") !=
             std::string::npos);
  BOOST_TEST(file.find("# app.disallow_anonymous: false\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(takes_the_ways_in_which_people_write_yaml) {
  const struct {
    const char *text, *json;
  } rows[] = {
      {"", "{}"},
      {"# run.default_queue: a\n", "{}"},
      {"run.default_queue:\n", R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE"}}})"},
      {"run.default_queue:  ## inherited from ORG\nlabels: {}\n",
       R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE"}},)"
       R"("labels":{"state":"SETTING_STATE_VALUE","mapValue":{}}})"},
      {"{run.default_queue: }", R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE"}}})"},
      {"run.default_queue: 1.50 # note\n",
       R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":"1.50"}}})"},
      {"\"run.default_queue\": '~unset'\r\n",
       R"({"run":{"defaultQueue":{"state":"SETTING_STATE_UNSET"}}})"},
      {"{\"run.max_action_concurrency\": 7}",
       R"({"run":{"maxActionConcurrency":{"state":"SETTING_STATE_VALUE","intValue":"7"}}})"},
      {"app.disallow_anonymous: Yes\n",
       R"({"app":{"disallowAnonymous":{"state":"SETTING_STATE_VALUE","boolValue":true}}})"},
      {"labels: {}\n", R"({"labels":{"state":"SETTING_STATE_VALUE","mapValue":{}}})"},
      {"labels: {team: blue, \"1\": on}\n",
       R"({"labels":{"state":"SETTING_STATE_VALUE","mapValue":{"entries":{"1":"on","team":"blue"}}}})"},
      {"labels: ~unset\n", R"({"labels":{"state":"SETTING_STATE_UNSET"}})"},
      {"task_resource.default_accelerator: aws-inf2\n",
       R"({"taskResource":{"defaultAccelerator":{"state":"SETTING_STATE_VALUE","acceleratorValue":)"
       R"({"device":"aws-inf2","deviceClass":"AMAZON_NEURON","acceleratorModel":"AMAZON_INF2"}}}})"},
  };
  for (const auto& row : rows)
    BOOST_TEST_CONTEXT(row.text) BOOST_TEST(json_of(row.text) == row.json);
}

BOOST_AUTO_TEST_CASE(quotes_what_some_reader_would_take_for_something_else) {
  const struct {
    const char *text, *yaml;
  } rows[] = {{"fast-queue", "fast-queue"}, {"/a/b.c", "/a/b.c"},      {"", "\"\""},
              {"500m", "\"500m\""},         {"No", "\"No\""},          {"a b", "\"a b\""},
              {"\u2028", "\"\\u2028\""},    {"\ufeff", "\"\\uFEFF\""}, {"\x01\n", "\"\\u0001\\n\""},
              {"ü\\", "\"ü\\\\\""}};
  for (const auto& row : rows) BOOST_TEST(yaml_string(row.text) == row.yaml);
}

BOOST_AUTO_TEST_CASE(that_is_wrong_is_refused_with_line_and_path) {
  const struct {
    const char *text, *error;
  } rows[] = {
      {"run.default_queue: [a\n", "line 2: this is no YAML"},
      {"a\n", "line 1: the file must be lines of `path: value`"},
      {"run.default_queue: \"a\nsecurity.service_account: sa\n", "line 2: this line is inside"},
      {"run.default_queue: 'a\nsecurity.service_account: sa\n", "line 2: this line is inside"},
      {"run.default_queue: a\nsecurity.service_account: \"sa\n",
       "line 2: security.service_account"},
      {"run.default_queue: a\n---\nlabels: {}\n", "line 3: a second document"},
      {"\nrun.default_que: a\n",
       "line 2: run.default_que: there is no setting \"run.default_que\" (did you mean "
       "run.default_queue"},
      {"run:\n  default_queue: a\n", "line 1: run: is a group"},
      {"labels: {}\nlabels: {}\n", "line 2: labels: is there twice"},
      {"run.max_action_concurrency: many\n",
       "line 1: run.max_action_concurrency: \"many\" is no whole number"},
      {"run.max_action_concurrency: 9223372036854775808\n",
       "line 1: run.max_action_concurrency: \"9223372036854775808\" is no whole number"},
      {"run.max_action_concurrency:\n", "line 1: run.max_action_concurrency: a value is needed"},
      {"run.default_queue: null\n", "line 1: run.default_queue: a value is needed, or ~unset"},
      {"run.default_queue: ~\n", "line 1: run.default_queue: a value is needed, or ~unset"},
      {"app.disallow_anonymous:\n", "line 1: app.disallow_anonymous: a value is needed"},
      {"task_resource.default_accelerator: # none\n",
       "line 1: task_resource.default_accelerator: a value is needed"},
      {"run.default_queue: [a]\n", "line 1: run.default_queue: a list or a tag is no value"},
      {"run.default_queue: {a: b}\n", "line 1: run.default_queue: one value is needed"},
      {"app.disallow_anonymous: maybe\n",
       "line 1: app.disallow_anonymous: \"maybe\" is neither true nor false"},
      {"labels: a\n", "line 1: labels: entries are needed"},
      {"labels:\n  # team: blue\n", "line 1: labels: a value is needed"},
      {"labels: {a: [b]}\n", "line 1: labels: the value of \"a\" must be a text"},
      {"labels: {a: }\n", "line 1: labels: entry \"a\" has no value"},
      {"labels: {a: b, a: c}\n", "line 1: labels: entry \"a\" is there twice"},
      {"task_resource.default_accelerator: {devise: x}\n",
       "line 1: task_resource.default_accelerator: there is no field"},
      {"run.default_queue: \"\xff\"\n", "the file is not UTF-8"},
      {"? [a]\n: b\n", "line 1: the name of a setting must be a text"},
  };
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.text)
  BOOST_TEST(error_of(row.text).starts_with(row.error), error_of(row.text));
  // The line is that of the file with the error in front.
  BOOST_TEST(with_error({1, "a", "b"}, "text") ==
             "### !! line 3: a: b\n"
             "### !! Mend it and save; to give up, close the editor without a change.\ntext");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(setting_paths)

BOOST_AUTO_TEST_CASE(name_settings_and_entries_of_maps) {
  BOOST_TEST(find_place("task_resource.max.gpu").path() == "task_resource.max.gpu");
  for (const char* path : {"labels.example.com/tier", "labels[\"example.com/tier\"]"})
    BOOST_TEST(find_place(path).path() == "labels[\"example.com/tier\"]");
}

BOOST_AUTO_TEST_CASE(that_are_none_are_told_the_nearest) {
  const struct {
    const char *path, *says;
  } rows[] = {
      {"run.default_que", "did you mean run.default_queue"},
      {"cpu", "did you mean task_resource.min.cpu, task_resource.max.cpu"},
      {"default_queue", "did you mean run.default_queue"},
      {"Run.Default-Queue", "did you mean run.default_queue"},
      {"run", "\"run\" is a group of settings; name one of run.default_queue, "},
      {"labels.", "there is no setting \"labels.\""},
      {"xyzzy", "there is no setting \"xyzzy\""},
      {"", "there is no setting \"\""},
  };
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.path)
  BOOST_CHECK_EXCEPTION(find_place(row.path), std::exception, [&](const std::exception& e) {
    BOOST_TEST_MESSAGE(e.what());
    return std::string(e.what()).find(row.says) != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::client
