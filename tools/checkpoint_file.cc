#include "tools/checkpoint_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "events/note.h"
#include "tools/client/api.h"

namespace writ {
namespace {

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text;
  for (char block[4096]; in.read(block, sizeof block) || in.gcount() > 0;)
    text.append(block, static_cast<std::size_t>(in.gcount()));
  // A directory can be opened, and its reading fails.
  if (!in.is_open() || in.bad())
    throw client::UsageError("cannot read the checkpoint " + file.string() + ": " +
                             std::strerror(errno));
  return text;
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::invalid_argument& why) {
  throw client::UsageError(file.string() + ": " + why.what() +
                           "; name a file with what `writ checkpoint` prints");
}

std::vector<VerifierKey> parse_keys(const std::vector<std::string>& keys) {
  std::vector<VerifierKey> verifiers;
  for (const std::string& key : keys) {
    try {
      verifiers.push_back(VerifierKey::parse(key));
    } catch (const std::invalid_argument& e) {
      throw client::UsageError(std::string("--key: ") + e.what() +
                               "; KEY is the text that `writ checkpoint --key` prints, no file");
    }
  }
  return verifiers;
}

}  // namespace

Checkpoint read_signed_checkpoint(const std::filesystem::path& file,
                                  const std::vector<std::string>& keys) {
  const std::vector<VerifierKey> verifiers = parse_keys(keys);
  const std::string note = read_file(file);
  try {
    const Checkpoint checkpoint = parse_checkpoint(open_note(note, verifiers));
    if (std::ranges::find(verifiers, checkpoint.origin, &VerifierKey::name) == verifiers.end())
      throw BadSignature("it is of " + checkpoint.origin + ", and the key is not");
    return checkpoint;
  } catch (const BadSignature& e) {
    throw BadSignature("the checkpoint " + file.string() + ": " + e.what());
  } catch (const std::invalid_argument& e) {
    refuse(file, e);
  }
}

Checkpoint read_trusted_checkpoint(const std::filesystem::path& file) {
  const std::string note = read_file(file);
  // The signatures follow on a blank line.
  const std::size_t blank = note.find("\n\n");
  try {
    return parse_checkpoint(blank == std::string::npos ? note : note.substr(0, blank + 1));
  } catch (const std::invalid_argument& e) {
    refuse(file, e);
  }
}

}  // namespace writ
