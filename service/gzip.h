#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace writ {

/// Why bytes could not be decompressed.
enum class GzipError {
  kMalformed,  ///< Not gzip, cut short, damaged, or followed by something else.
  kTooLarge,   ///< More than the limit came out; inflating stopped there.
};

/// Decompresses gzip (RFC 1952, several members are one text). Never holds more than `limit` bytes
/// of output.
std::variant<std::string, GzipError> gunzip(std::string_view bytes, std::size_t limit);

/// Compresses; `level` is 1 (fast) to 6. The same bytes give the same result.
std::string gzip(std::string_view bytes, int level = 1);

}  // namespace writ
