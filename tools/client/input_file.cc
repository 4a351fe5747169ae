#include "tools/client/input_file.h"

#include <filesystem>
#include <fstream>
#include <iostream>

#include "tools/client/api.h"
#include "tools/client/printable.h"

namespace writ::client {
namespace {

constexpr std::size_t kLargest = 8 * 1024 * 1024;

}  // namespace

std::string read_input(const std::string& name, const std::string& what) {
  std::ifstream stream;
  if (name != "-") stream.open(name, std::ios::binary);
  if (name != "-" && (!stream || std::filesystem::is_directory(name)))
    throw UsageError("cannot read " + printable(name));
  std::istream& in = name == "-" ? std::cin : stream;
  std::string text;
  char piece[4096];
  while (in.read(piece, sizeof piece) || in.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kLargest) throw UsageError(printable(name) + " is too large for " + what);
  }
  return text;
}

}  // namespace writ::client
