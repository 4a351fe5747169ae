#include "events/checkpoint.h"

#include <charconv>
#include <stdexcept>

#include "schema/base64.h"

namespace writ {
namespace {

[[noreturn]] void refuse() { throw std::invalid_argument("this is no checkpoint of a log"); }

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || end == 0) refuse();
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

std::string Checkpoint::log_id() const { return origin.substr(origin.rfind('/') + 1); }

std::string checkpoint_text(const Checkpoint& checkpoint) {
  std::string text = checkpoint.origin + '\n';
  text += std::to_string(checkpoint.size.value) + '\n';
  text += encode_base64(bytes_of(checkpoint.root));
  return text += '\n';
}

Checkpoint parse_checkpoint(std::string_view text) {
  Checkpoint checkpoint;
  checkpoint.origin = take_line(text);
  const std::string_view size = take_line(text);
  const char* const end = size.data() + size.size();
  const auto [rest, error] = std::from_chars(size.data(), end, checkpoint.size.value);
  if (error != std::errc() || rest != end || std::to_string(checkpoint.size.value) != size ||
      checkpoint.size.value < 0)
    refuse();
  const std::string_view root = take_line(text);
  const auto bytes = decode_base64(root);
  if (!bytes || bytes->size() != sizeof(Digest) || encode_base64(*bytes) != root) refuse();
  checkpoint.root = to_digest(*bytes);
  while (!text.empty()) take_line(text);
  return checkpoint;
}

}  // namespace writ
