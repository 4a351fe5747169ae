#include "service/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace writ {
namespace {

constexpr int kGzipOnly = 16;  // added to the window bits, zlib.h
constexpr std::size_t kSmallestOutput = 4096;

Bytef* input_bytes(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream* operator->() { return &stream_; }
  z_stream* get() { return &stream_; }

 private:
  z_stream stream_{};
};

// The smallest window that holds the whole text: compressing 4 KiB needs no 256 KiB of state.
int window_bits(std::size_t size) {
  int bits = 9;
  while (bits < MAX_WBITS && (std::size_t{1} << bits) < size) ++bits;
  return bits;
}

}  // namespace

std::variant<std::string, GzipError> gunzip(std::string_view bytes, std::size_t limit) {
  if (bytes.size() > std::numeric_limits<uInt>::max()) return GzipError::kTooLarge;
  Inflater inflater;
  inflater->next_in = input_bytes(bytes);
  inflater->avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::size_t size = 0;
  while (true) {
    // One byte over the limit is enough to know.
    const std::size_t wanted = std::max({kSmallestOutput, bytes.size() * 4, out.size() * 2});
    if (size == out.size()) out.resize(std::min(wanted, limit + 1));
    inflater->next_out = reinterpret_cast<Bytef*>(out.data() + size);
    inflater->avail_out = static_cast<uInt>(out.size() - size);
    const int result = inflate(inflater.get(), Z_NO_FLUSH);
    size = out.size() - inflater->avail_out;
    if (size > limit) return GzipError::kTooLarge;
    if (result == Z_STREAM_END) {
      if (inflater->avail_in == 0) break;
      inflateReset(inflater.get());
    } else if (result != Z_OK || (inflater->avail_in == 0 && inflater->avail_out != 0)) {
      return GzipError::kMalformed;
    }
  }
  out.resize(size);
  return out;
}

std::string gzip(std::string_view bytes, int level) {
  z_stream stream{};
  const int bits = window_bits(bytes.size());
  const int memory = std::clamp(bits - 7, 1, 8);
  if (deflateInit2(&stream, level, Z_DEFLATED, bits + kGzipOnly, memory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  std::string out;
  out.resize(deflateBound(&stream, static_cast<uLong>(bytes.size())));
  stream.next_in = input_bytes(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::bad_alloc();
  return out;
}

}  // namespace writ
