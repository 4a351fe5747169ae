#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace writ {

// Length-prefixed messages, as Connect streaming and gRPC-Web frame them: one byte of flags, the
// size in four bytes big-endian, the data.

constexpr std::uint8_t kCompressedFlag = 0x01;
constexpr std::uint8_t kConnectEndFlag = 0x02;
constexpr std::uint8_t kGrpcWebTrailersFlag = 0x80;

struct Envelope {
  std::uint8_t flags = 0;
  std::string_view data;
};

/// Takes the first envelope off `bytes`. Nothing when it is not whole; `bytes` is then unchanged.
std::optional<Envelope> take_envelope(std::string_view* bytes);

void append_envelope(std::uint8_t flags, std::string_view data, std::string* out);

}  // namespace writ
