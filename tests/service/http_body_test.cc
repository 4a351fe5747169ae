#include "service/http_body.h"

#include <boost/test/unit_test.hpp>

#include <string>

namespace writ {
namespace {

using Status = ChunkedDecoder::Status;

constexpr std::size_t kLimit = 20;

struct Decoded {
  Status status = Status::kMore;
  std::string body;
  std::size_t consumed = 0;
};

Decoded decode(const std::string& bytes, std::size_t step) {
  ChunkedDecoder decoder(kLimit);
  Decoded out;
  while (out.status == Status::kMore && out.consumed < bytes.size()) {
    std::size_t consumed = 0;
    out.status =
        decoder.feed(std::string_view(bytes).substr(out.consumed, step), &consumed, &out.body);
    out.consumed += consumed;
  }
  return out;
}

struct Row {
  const char* name;
  std::string bytes;
  Status status;
  std::string body;
};

const Row kRows[] = {
    {"empty", "0\r\n\r\n", Status::kDone, ""},
    {"two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", Status::kDone, "hello world"},
    {"hexadecimal, leading zeros", "000A\r\n0123456789\r\n0\r\n\r\n", Status::kDone, "0123456789"},
    {"extension", "1;a=\"b\"\r\nx\r\n0;c\r\n\r\n", Status::kDone, "x"},
    {"trailers", "1\r\nx\r\n0\r\nA: 1\r\nB: 2\r\n\r\n", Status::kDone, "x"},
    {"at the limit", "14\r\n01234567890123456789\r\n0\r\n\r\n", Status::kDone,
     "01234567890123456789"},
    {"over the limit in one chunk", "15\r\n", Status::kTooLarge, ""},
    {"over the limit in two chunks", "14\r\n01234567890123456789\r\n1\r\n", Status::kTooLarge,
     "01234567890123456789"},
    {"unfinished", "5\r\nhel", Status::kMore, "hel"},
    {"no size", "\r\n", Status::kBad, ""},
    {"sign", "+5\r\nhello\r\n", Status::kBad, ""},
    {"0x", "0x5\r\nhello\r\n", Status::kBad, ""},
    {"space before the size", " 5\r\nhello\r\n", Status::kBad, ""},
    {"space after the size", "5 \r\nhello\r\n", Status::kBad, ""},
    {"nine digits", "000000005\r\nhello\r\n", Status::kBad, ""},
    {"bare LF after the size", "5\nhello\r\n", Status::kBad, ""},
    {"bare CR in an extension", "5;a\rb\r\nhello\r\n", Status::kBad, ""},
    {"NUL in an extension", std::string("5;a\0\r\n", 6), Status::kBad, ""},
    {"long extension", "5;" + std::string(300, 'a') + "\r\n", Status::kBad, ""},
    {"data longer than announced", "5\r\nhello!\r\n", Status::kBad, "hello"},
    {"bare LF after data", "5\r\nhello\n", Status::kBad, "hello"},
    {"long trailers", "0\r\nA: " + std::string(9000, 'a') + "\r\n\r\n", Status::kBad, ""},
};

BOOST_AUTO_TEST_SUITE(http_body)

BOOST_AUTO_TEST_CASE(a_chunked_body_is_decoded_the_same_however_it_is_cut) {
  for (const Row& row : kRows) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, row.bytes.size()}) {
      const Decoded out = decode(row.bytes, step);
      BOOST_TEST((out.status == row.status), row.name << " in steps of " << step);
      BOOST_TEST(out.body == row.body, row.name << " in steps of " << step);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_follows_a_chunked_body_is_left) {
  const std::string body = "1\r\nx\r\n0\r\n\r\n";
  const Decoded out = decode(body + "GET / HTTP/1.1\r\n", 100);
  BOOST_TEST((out.status == Status::kDone));
  BOOST_TEST(out.consumed == body.size());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
