#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/binary_messages.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

const std::filesystem::path kSource = WRIT_SOURCE_DIR;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  BOOST_REQUIRE_MESSAGE(file, "cannot read " << path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Step {
  std::string name;
  std::string path;
  Json request, answer, rows;
};

/// Reads `## heading`, "`POST path`" and three blocks of JSON for each step, in this order.
std::vector<Step> steps_of_document(const std::string& text) {
  std::vector<Step> steps;
  std::vector<Json> blocks;
  std::string heading, path;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (line.starts_with("`POST ")) {
      BOOST_REQUIRE_MESSAGE(blocks.empty(), "half a step before " << heading);
      path = line.substr(6, line.find('`', 6) - 6);
    }
    if (line != "```json") continue;
    std::string block;
    while (std::getline(lines, line) && line != "```") block += line + "\n";
    blocks.push_back(Json::parse(block));
    if (blocks.size() < 3) continue;
    steps.push_back({heading, path, blocks[0], blocks[1], blocks[2]});
    blocks.clear();
  }
  BOOST_REQUIRE_MESSAGE(blocks.empty(), "half a step at the end");
  return steps;
}

/// The files of flow/ in order of their names.
std::vector<Step> steps_of_files() {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "tests/acceptance/flow"))
    files.insert(entry.path());
  std::vector<Step> steps;
  for (const auto& file : files) {
    const Json step = Json::parse(read_file(file));
    steps.push_back({file.filename(), kService + step.at("method").text(), step.at("request"),
                     step.at("response"), step.at("rows")});
  }
  return steps;
}

void run_in_json(const std::vector<Step>& steps) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  for (const Step& step : steps) {
    BOOST_TEST_CONTEXT(step.name) {
      const HttpAnswer answer =
          client.send("POST", step.path, "application/json", step.request.dump());
      BOOST_TEST(answer.status == 200);
      BOOST_TEST(answer.header("Content-Type") == "application/json");
      BOOST_TEST(answer.json() == step.answer);
      BOOST_TEST(answer.body == step.answer.dump());
      BOOST_TEST(settings_rows(database.conninfo()) == step.rows);
    }
  }
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(customer_flow)

BOOST_AUTO_TEST_CASE(the_document_holds_word_for_word) {
  const auto steps = steps_of_document(read_file(kSource / "service/customer_flow.md"));
  BOOST_REQUIRE(steps.size() == 8u);
  run_in_json(steps);
}

BOOST_AUTO_TEST_CASE(the_recorded_steps_hold_in_json) {
  const auto steps = steps_of_files();
  BOOST_REQUIRE(steps.size() == 8u);
  run_in_json(steps);
}

BOOST_AUTO_TEST_CASE(the_recorded_steps_hold_in_binary) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  for (const Step& step : steps_of_files()) {
    BOOST_TEST_CONTEXT(step.name) {
      const auto& method = settings_method(step.path.substr(kService.size()));
      const HttpAnswer answer = client.send("POST", step.path, "application/proto",
                                            to_binary(*method.input_type(), step.request));
      BOOST_TEST(answer.status == 200);
      BOOST_TEST(answer.header("Content-Type") == "application/proto");
      BOOST_TEST(hex(answer.body) == hex(to_binary(*method.output_type(), step.answer)));
      BOOST_TEST(settings_rows(database.conninfo()) == step.rows);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
