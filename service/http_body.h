#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace writ {

/// Decodes a chunked body (RFC 9112 section 7.1) that arrives piece by piece. Chunk extensions and
/// trailer fields are checked for length and dropped.
class ChunkedDecoder {
 public:
  enum class Status {
    kMore,      ///< Good so far.
    kDone,      ///< The body and its trailer section are complete.
    kBad,       ///< Not a chunked body.
    kTooLarge,  ///< The data would exceed the limit.
  };

  /// `limit`: the most bytes of data, without the framing.
  explicit ChunkedDecoder(std::size_t limit) : limit_(limit) {}

  /// Takes bytes from `input`, adds their data to `body` and says in `consumed` how many it took:
  /// all of them, or less once the status is no longer kMore. Not to be called again after that.
  Status feed(std::string_view input, std::size_t* consumed, std::string* body);

 private:
  enum class State { kSize, kExtension, kSizeLf, kData, kDataCr, kDataLf, kTrailer, kTrailerLf };

  Status take(char c);
  Status take_size(char c);
  Status end_of_size_line();
  Status take_trailer(char c);

  std::size_t limit_;
  State state_ = State::kSize;
  std::size_t left_ = 0;           // of the chunk's data
  std::size_t digits_ = 0;         // of the chunk's size
  std::size_t total_ = 0;          // data of the chunks announced so far
  std::size_t line_bytes_ = 0;     // of the extension
  std::size_t trailer_bytes_ = 0;  // of the whole trailer section
  bool trailer_line_empty_ = true;
};

}  // namespace writ
