// Runs every file of a folder through one target, without libFuzzer: fuzz_replay TARGET FOLDER

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace {

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};

constexpr std::array<Target, 9> kTargets{{
    {"http_head", writ::fuzz::http_head},
    {"http_body", writ::fuzz::http_body},
    {"protojson", writ::fuzz::protojson},
    {"connect_get", writ::fuzz::connect_get},
    {"envelope", writ::fuzz::envelope},
    {"grpc_web_text", writ::fuzz::grpc_web_text},
    {"quantity", writ::fuzz::quantity},
    {"settings_tree", writ::fuzz::settings_tree},
    {"apply_run", writ::fuzz::apply_run},
}};

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// False when the target found something.
bool run(const Target& target, const std::filesystem::path& file) {
  // Flushed before the input is tried, since the program may not outlive it.
  std::cout << file.filename().string() << std::endl;
  try {
    target.run(content_of(file));
    return true;
  } catch (const std::exception& error) {
    std::cout << "  " << error.what() << std::endl;
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto* const target =
      std::find_if(kTargets.begin(), kTargets.end(),
                   [&](const Target& known) { return argc == 3 && known.name == argv[1]; });
  if (target == kTargets.end()) {
    std::cerr << "usage: fuzz_replay TARGET FOLDER\n";
    return 2;
  }
  const auto files = files_of(argv[2]);
  if (files.empty()) {
    std::cerr << argv[2] << " is empty\n";
    return 1;
  }
  const auto found = std::count_if(files.begin(), files.end(),
                                   [&](const auto& file) { return !run(*target, file); });
  std::cout << files.size() << " inputs, " << found << " of them found something\n";
  return found == 0 ? 0 : 1;
}
