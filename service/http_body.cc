#include "service/http_body.h"

#include <algorithm>

namespace writ {
namespace {

constexpr std::size_t kMostSizeDigits = 8;
constexpr std::size_t kMostExtensionBytes = 256;
constexpr std::size_t kMostTrailerBytes = 8 * 1024;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ChunkedDecoder::Status ChunkedDecoder::feed(std::string_view input, std::size_t* consumed,
                                            std::string* body) {
  std::size_t at = 0;
  Status status = Status::kMore;
  while (at < input.size() && status == Status::kMore) {
    if (state_ == State::kData) {
      const std::size_t n = std::min(left_, input.size() - at);
      body->append(input.substr(at, n));
      at += n;
      left_ -= n;
      if (left_ == 0) state_ = State::kDataCr;
    } else {
      status = take(input[at++]);
    }
  }
  *consumed = at;
  return status;
}

ChunkedDecoder::Status ChunkedDecoder::take(char c) {
  switch (state_) {
    case State::kSize:
      return take_size(c);
    case State::kExtension:
      if (c == '\r') {
        state_ = State::kSizeLf;
        return Status::kMore;
      }
      return is_control(c) || ++line_bytes_ > kMostExtensionBytes ? Status::kBad : Status::kMore;
    case State::kSizeLf:
      return c == '\n' ? end_of_size_line() : Status::kBad;
    case State::kDataCr:
      state_ = State::kDataLf;
      return c == '\r' ? Status::kMore : Status::kBad;
    case State::kDataLf:
      state_ = State::kSize;
      digits_ = 0;
      line_bytes_ = 0;
      return c == '\n' ? Status::kMore : Status::kBad;
    case State::kTrailer:
    case State::kTrailerLf:
      return take_trailer(c);
    case State::kData:
      break;
  }
  return Status::kBad;
}

ChunkedDecoder::Status ChunkedDecoder::take_size(char c) {
  const int value = hex_value(c);
  if (value >= 0) {
    if (++digits_ > kMostSizeDigits) return Status::kBad;
    left_ = left_ * 16 + static_cast<std::size_t>(value);
    return Status::kMore;
  }
  if (digits_ == 0) return Status::kBad;
  if (c == '\r') {
    state_ = State::kSizeLf;
    return Status::kMore;
  }
  if (c != ';') return Status::kBad;
  state_ = State::kExtension;
  return Status::kMore;
}

ChunkedDecoder::Status ChunkedDecoder::end_of_size_line() {
  if (left_ == 0) {
    state_ = State::kTrailer;
    return Status::kMore;
  }
  total_ += left_;
  state_ = State::kData;
  return total_ > limit_ ? Status::kTooLarge : Status::kMore;
}

ChunkedDecoder::Status ChunkedDecoder::take_trailer(char c) {
  if (++trailer_bytes_ > kMostTrailerBytes) return Status::kBad;
  if (state_ == State::kTrailerLf) {
    if (c != '\n') return Status::kBad;
    if (trailer_line_empty_) return Status::kDone;
    trailer_line_empty_ = true;
    state_ = State::kTrailer;
    return Status::kMore;
  }
  if (c == '\r') {
    state_ = State::kTrailerLf;
    return Status::kMore;
  }
  trailer_line_empty_ = false;
  return is_control(c) ? Status::kBad : Status::kMore;
}

}  // namespace writ
