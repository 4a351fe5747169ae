#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/tools/client_fixture.h"

namespace writ::test {
namespace {

const std::string kDocument = std::string(WRIT_SOURCE_DIR) + "/service/applying.md";

/// Times as T and runs of blanks as one: what is another each time.
std::string squeezed(std::string text) {
  text = std::regex_replace(
      text, std::regex("\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ \\((now|\\d+ (s|min) ago)\\)"),
      "T");
  return std::regex_replace(text, std::regex(" {2,}"), "  ");
}

struct ApplyFixture : ClientFixture {
  /// What a shell prints, errors among it, with `writ` and the server at hand.
  std::string shell(const std::string& line) const {
    const std::string program = std::filesystem::path(writ_program()).parent_path();
    const std::string file =
        script("step", "cd '" + directory.path().string() + "' || exit 1\nexport PATH='" + program +
                           "':\"$PATH\" WRIT_URL='" + url + "'\n" + line + "\n");
    std::FILE* const pipe = popen(("'" + file + "' 2>&1").c_str(), "r");
    BOOST_REQUIRE(pipe != nullptr);
    std::string out;
    char buffer[4096];
    for (std::size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
      out.append(buffer, got);
    pclose(pipe);
    if (!out.empty() && out.back() != '\n') out += '\n';
    return out;
  }

  std::string run_file(const std::string& text) const { return file("run.yaml", text); }

  /// The document with what its commands print now.
  std::string document_now() const {
    std::ifstream in(kDocument);
    std::string out, block, kind;
    for (std::string line; std::getline(in, line);) {
      const bool fence = line.starts_with("```");
      if (fence && kind == "yaml") run_file(block);
      if (fence) {
        kind = kind.empty() ? line.substr(3) : "";
        block.clear();
      }
      const bool command = kind == "console" && line.starts_with("$ ");
      if (!fence && kind == "console" && !command) continue;  // what was printed then
      if (!fence) block += line + "\n";
      out += line + "\n";
      if (command) out += shell(line.substr(2));
    }
    return out;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(writ_apply, ApplyFixture)

/// With WRIT_REWRITE_DOCUMENTS in the environment the document is written anew.
BOOST_AUTO_TEST_CASE(the_document_for_platform_teams_shows_what_is_printed) {
  const std::string now = document_now();
  if (std::getenv("WRIT_REWRITE_DOCUMENTS") != nullptr) std::ofstream(kDocument) << now;
  const std::string then = contents_of(kDocument);
  BOOST_TEST(now.find("writ: ") == std::string::npos);
  BOOST_TEST(squeezed(now) == squeezed(then));
}

BOOST_AUTO_TEST_CASE(the_spec_goes_through_a_pipe_and_the_explanation_when_asked) {
  ok({"set", "-d", "d", "task_resource.max.cpu=2", "labels.a=1"});
  const std::string file = run_file(
      "tasks: [{container: {resources: {requests: [{name: CPU, "
      "value: 4}]}}, metadata: {pod_template_name: \"7\"}}]\n");
  BOOST_TEST(ok({"apply", file, "-d", "d"}) == R"(runSpec:
  labels:
    values:
      a: "1"
  defaultSettings:
    taskResourceDefaults:
      max:
        - name: CPU
          value: "2"
tasks:
  - metadata:
      podTemplateName: "7"
    container:
      resources:
        requests:
          - name: CPU
            value: "2"
)");
  BOOST_TEST(squeezed(ok({"apply", file, "-d", "d", "--explain"})) ==
             R"(FIELD  WAS  IS  SETTING  SET AT  POSITION
run_spec.labels["a"]  -  1  filled  labels["a"]  d  1
run_spec.default_settings.task_resource_defaults.max["CPU"]  -  2  filled  task_resource.max.cpu  d  1
tasks[0].container.resources.requests["CPU"]  4  2  capped  task_resource.max.cpu  d  1
)");
  BOOST_TEST(ok({"apply", file, "-d", "other", "--explain"}) == "nothing is changed\n");
  BOOST_TEST(ok({"apply", file, "-d", "d", "--at", "0", "--explain"}) == "nothing is changed\n");
  BOOST_TEST(ok({"apply", file, "-d", "d", "-o", "json"}).starts_with(R"({"runSpec":{"labels")"));
  const std::string explained = ok({"apply", file, "-d", "d", "-o", "json", "--explain"});
  BOOST_TEST(explained.starts_with(R"({"position":"1","changes":[{"path")"));
}

BOOST_AUTO_TEST_CASE(pods_keep_numbers_and_text_apart_and_json_is_yaml_too) {
  ok({"set", "task_resource.min.memory=1Gi"});
  const std::string pod = run_file(R"(tasks:
  - k8sPod:
      podSpec:
        containers:
          - {name: main, tty: true, command: [sh, "-c", '1'], resources: {limits: {cpu: 1.5}}}
)");
  BOOST_TEST(
      ok({"apply", pod, "-o", "json"})
          .find(R"("command":["sh","-c","1"],"name":"main","resources":{"limits":{"cpu":1.5},)"
                R"("requests":{"memory":"1Gi"}},"tty":true})") != std::string::npos);
  const std::string json = run_file(R"({"tasks": [{"container": {"args": ["1", "true"]}}]})");
  BOOST_TEST(ok({"apply", json, "-o", "json"}).find(R"("args":["1","true"])") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_run_is_said_before_anything_is_printed) {
  struct Row {
    const char* name;
    std::string text;
    int status;
    std::string error;
  };
  for (const Row& row :
       {Row{"no YAML", "a: [", 2, "this is no YAML"},
        Row{"no mapping", "- a", 2, "the file must have `runSpec:` and `tasks:`"},
        Row{"a field that is none", "tasks: [{container: {resorces: {}}}]", 2,
            "no such fields: tasks[0].container.resorces (--drop-unknown leaves them out)"},
        Row{"a scope", "key: {domain: d}", 2, "the scope and the point are given by --domain"},
        Row{"a resource that is none",
            "tasks: [{container: {resources: {requests: [{name: RAM, value: 1}]}}}]", 2,
            "tasks[0].container.resources.requests[0].name"},
        Row{"no quantity",
            "tasks: [{container: {resources: {requests: [{name: CPU, value: much}]}}}]", 3,
            "invalid tasks[0].container.resources.requests[\"CPU\"]: \"much\""},
        Row{"nothing to run in", "tasks: [{}]", 3,
            "invalid tasks[0]: must have a container or a k8s_pod"}}) {
    BOOST_TEST_CONTEXT(row.name) {
      const WritRun done = run({"apply", run_file(row.text)});
      BOOST_TEST(done.status == row.status);
      BOOST_TEST(done.out.empty());
      BOOST_TEST(done.err.find(row.error) != std::string::npos, done.err);
    }
  }
  const WritRun dropped =
      run({"apply", run_file("tasks: [{container: {image: a, resorces: {}}}]"), "--drop-unknown"});
  BOOST_TEST(dropped.status == 0);
  BOOST_TEST(dropped.err == "writ: left out: tasks[0].container.resorces\n");
  BOOST_TEST(run({"apply", "/nowhere/run.yaml"}).status == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
