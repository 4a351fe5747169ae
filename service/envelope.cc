#include "service/envelope.h"

namespace writ {
namespace {

constexpr std::size_t kPrefixSize = 5;

}  // namespace

std::optional<Envelope> take_envelope(std::string_view* bytes) {
  if (bytes->size() < kPrefixSize) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefixSize; ++i) {
    size = (size << 8) | static_cast<unsigned char>((*bytes)[i]);
  }
  if (bytes->size() - kPrefixSize < size) return std::nullopt;
  const Envelope envelope{static_cast<std::uint8_t>((*bytes)[0]), bytes->substr(kPrefixSize, size)};
  bytes->remove_prefix(kPrefixSize + size);
  return envelope;
}

void append_envelope(std::uint8_t flags, std::string_view data, std::string* out) {
  out->push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) out->push_back(static_cast<char>(data.size() >> shift));
  out->append(data);
}

}  // namespace writ
