#include "events/storable_text.h"

#include "schema/utf8.h"

namespace writ {

bool is_storable(std::string_view text) {
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte == 0) return false;
    std::size_t size = 1;
    if (byte >= 0x80) {
      const auto decoded = decode_utf8(text);
      if (!decoded) return false;
      size = decoded->size;
    }
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace writ
