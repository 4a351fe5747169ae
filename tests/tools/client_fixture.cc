#include "tests/tools/client_fixture.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/acceptance/child.h"

namespace writ::test {

namespace stdfs = std::filesystem;

ClientFixture::ClientFixture()
    : writ(database), client(writ.port()), url("http://127.0.0.1:" + std::to_string(writ.port())) {
  stdfs::create_directory(directory.path() / "tmp");
}

WritRun ClientFixture::run(const Arguments& arguments, Environment environment,
                           const std::string& input) const {
  environment.emplace("WRIT_URL", url);
  environment.emplace("TMPDIR", directory.path() / "tmp");
  environment.emplace("TEST_INPUT", input);
  ChildOptions options{{}, environment, {"PG", "WRIT_", "EDITOR", "VISUAL", "NO_COLOR"}};
  if (input.empty())
    options.arguments = {writ_program()};
  else
    options.arguments = {"/bin/sh", "-c", "printf '%s' \"$TEST_INPUT\" | \"$@\"", "sh",
                         writ_program()};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  Child child(options);
  WritRun run;
  run.status = child.wait(std::chrono::seconds(30)).value_or(-1);
  run.out = child.standard_output();
  run.err = child.standard_error();
  return run;
}

std::string ClientFixture::ok(const Arguments& arguments) const {
  const WritRun done = run(arguments);
  BOOST_TEST_REQUIRE(done.status == 0, done.err);
  return done.out;
}

std::string ClientFixture::effective(const std::string& domain, const std::string& project) {
  const Json answer =
      client.call("GetSettings", Json::object({{"key", key_json(domain, project)}})).json();
  const Json* settings = answer.at("settingsRecord").find("settings");
  return settings == nullptr ? "{}" : settings->dump();
}

long ClientFixture::head() {
  const Json answer =
      client.send("POST", "/writ.audit.v1.AuditService/GetHead", "application/json", "{}").json();
  const Json* position = answer.find("position");
  return position == nullptr ? 0 : std::stol(position->text());
}

std::string ClientFixture::script(const std::string& name, const std::string& text) const {
  const std::string path = file(name, "#!/bin/sh\n" + text);
  stdfs::permissions(path, stdfs::perms::owner_all);
  return path;
}

std::string ClientFixture::file(const std::string& name, const std::string& text) const {
  const std::string path = directory.path() / name;
  std::ofstream(path) << text;
  return path;
}

std::vector<std::string> ClientFixture::kept() const {
  std::vector<std::string> files;
  for (const auto& entry : stdfs::directory_iterator(directory.path() / "tmp"))
    files.push_back(entry.path());
  return files;
}

std::string contents_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace writ::test
