#include "tools/checkpoint_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "events/note.h"
#include "tools/client/api.h"

namespace writ {
namespace {

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw client::UsageError("cannot read " + file.string());
  return text.str();
}

}  // namespace

Checkpoint read_signed_checkpoint(const std::filesystem::path& file,
                                  const std::vector<std::string>& keys) {
  std::vector<VerifierKey> verifiers;
  for (const std::string& key : keys) {
    try {
      verifiers.push_back(VerifierKey::parse(key));
    } catch (const std::invalid_argument& e) {
      throw client::UsageError(std::string("--key: ") + e.what() +
                               "; KEY is the text that `writ checkpoint --key` prints, no file");
    }
  }
  const Checkpoint checkpoint = parse_checkpoint(open_note(read_file(file), verifiers));
  if (std::ranges::find(verifiers, checkpoint.origin, &VerifierKey::name) == verifiers.end())
    throw std::invalid_argument("it is of " + checkpoint.origin + ", and the key is not");
  return checkpoint;
}

Checkpoint read_trusted_checkpoint(const std::filesystem::path& file) {
  const std::string note = read_file(file);
  // The signatures follow on a blank line.
  const std::size_t blank = note.find("\n\n");
  return parse_checkpoint(blank == std::string::npos ? note : note.substr(0, blank + 1));
}

}  // namespace writ
