#include "service/http_body.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace writ::fuzz {
namespace {

using Status = ChunkedDecoder::Status;

struct Decoded {
  Status status = Status::kMore;
  std::size_t consumed = 0;
  std::string body;

  bool operator==(const Decoded&) const = default;
};

Decoded decode(std::string_view bytes, std::size_t step, std::size_t limit) {
  ChunkedDecoder decoder(limit);
  Decoded out;
  while (out.status == Status::kMore && out.consumed < bytes.size()) {
    const std::string_view piece = bytes.substr(out.consumed, step);
    std::size_t consumed = 0;
    out.status = decoder.feed(piece, &consumed, &out.body);
    require(out.status != Status::kMore ? consumed <= piece.size() : consumed == piece.size(),
            "a decoder that wants more has taken all");
    out.consumed += consumed;
    require(out.body.size() <= limit, "the body is within its limit");
    require(out.body.size() <= out.consumed, "the body comes from the bytes taken");
  }
  return out;
}

/// In chunks of `chunk_size` bytes.
std::string encode(std::string_view body, std::size_t chunk_size) {
  std::string out;
  while (!body.empty()) {
    const std::string_view chunk = body.substr(0, chunk_size);
    char digits[16];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), chunk.size(), 16).ptr;
    out.append(digits, end).append("\r\n").append(chunk).append("\r\n");
    body.remove_prefix(chunk.size());
  }
  return out + "0\r\n\r\n";
}

void check(std::string_view input, std::size_t limit) {
  const Decoded whole = decode(input, input.size() + 1, limit);
  require(decode(input, 1, limit) == whole, "a body is the same byte by byte");
  require(decode(input, 5, limit) == whole, "a body is the same in pieces");
  if (whole.status != Status::kDone) return;
  for (const std::size_t chunk_size : {std::size_t{1}, std::size_t{17}, std::size_t{4096}}) {
    const std::string encoded = encode(whole.body, chunk_size);
    const Decoded again = decode(encoded + "GET ", encoded.size(), limit);
    require(again == Decoded{Status::kDone, encoded.size(), whole.body},
            "what was decoded can be encoded");
  }
}

}  // namespace

void http_body(std::string_view input) {
  check(input, 1024 * 1024);
  check(input, 20);
}

}  // namespace writ::fuzz
