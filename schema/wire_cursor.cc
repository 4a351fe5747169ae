#include "schema/wire_cursor.h"

#include <bit>

namespace writ {

static_assert(std::endian::native == std::endian::little);

std::uint64_t WireCursor::long_varint() {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    GOOGLE_CHECK(at_ != end_);
    const auto byte = static_cast<unsigned char>(*at_++);
    number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  GOOGLE_LOG(FATAL) << "a varint of more than ten bytes";
  return 0;
}

void WireCursor::skip(std::uint32_t tag) {
  int open_groups = 0;
  do {
    switch (wire_type(tag)) {
      case WireType::kVarint:
        varint();
        break;
      case WireType::kFixed32:
        fixed32();
        break;
      case WireType::kFixed64:
        fixed64();
        break;
      case WireType::kBytes:
        bytes();
        break;
      case WireType::kBeginGroup:
        ++open_groups;
        break;
      case WireType::kEndGroup:
        --open_groups;
        break;
    }
    if (open_groups > 0) tag = this->tag();
  } while (open_groups > 0);
}

}  // namespace writ
