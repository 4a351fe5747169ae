#include "service/grpc_web.h"

#include <algorithm>
#include <string>

#include "schema/base64.h"
#include "service/connect_call.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace writ::fuzz {
namespace {

/// The one spelling that the encoder has.
std::string in_standard_alphabet(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '-', '+');
  std::replace(out.begin(), out.end(), '_', '/');
  return without_padding(std::move(out));
}

void check_decoded(std::string_view text) {
  const auto bytes = decode_base64(text);
  if (bytes) {
    require(without_padding(encode_base64(*bytes)) == in_standard_alphabet(text),
            "different texts are different bytes");
    require(decode_base64(in_standard_alphabet(text)) == bytes, "padding may be left out");
  }
  const auto body = decode_grpc_web_text(text);
  require(!bytes || body == bytes, "one piece is base64");
  if (!body) return;
  require(body->size() <= text.size() / 4 * 3 + 2, "no more comes out than goes in");
  require(decode_grpc_web_text(encode_base64(*body)) == body, "what was decoded can be encoded");
}

/// Encodes the bytes in pieces of these sizes, each of them padded.
void check_pieces(std::string_view bytes, std::size_t size, std::size_t grows) {
  std::string text;
  for (std::string_view rest = bytes; !rest.empty(); size += grows) {
    const std::string_view piece = rest.substr(0, size);
    text += encode_base64(piece);
    rest.remove_prefix(piece.size());
  }
  require(decode_grpc_web_text(text) == bytes, "pieces are put together");
}

void check_timeout(std::string_view text) {
  try {
    const auto timeout = parse_grpc_timeout(text);
    require(timeout && timeout->count() >= 0, "a timeout is not negative");
    require(text.size() >= 2 && text.size() <= 9, "a timeout has at most 8 digits and a unit");
  } catch (const ConnectError& error) {
    require(error.code() == Code::kInvalidArgument, "a malformed timeout is the caller's fault");
  }
}

}  // namespace

void grpc_web_text(std::string_view input) {
  check_decoded(input);
  check_pieces(input, 1, 1);
  check_pieces(input, 3, 0);
  check_pieces(input, 4, 0);
  check_timeout(input);
}

}  // namespace writ::fuzz
