#include "schema/base64.h"

#include <boost/test/unit_test.hpp>
#include <random>

namespace writ {
namespace {

BOOST_AUTO_TEST_SUITE(base64)

BOOST_AUTO_TEST_CASE(the_vectors_of_rfc_4648_hold) {
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [bytes, text] : rows) {
    BOOST_TEST(encode_base64(bytes) == text);
    BOOST_TEST(decode_base64(text).value() == bytes, text);
  }
}

BOOST_AUTO_TEST_CASE(both_alphabets_are_read_with_and_without_padding) {
  const std::string bytes = "\xfb\xff\xfe";
  BOOST_TEST(decode_base64("+//+").value() == bytes);
  BOOST_TEST(decode_base64("-__-").value() == bytes);
  BOOST_TEST(decode_base64("Zg").value() == "f");
}

BOOST_AUTO_TEST_CASE(malformed_text_is_refused) {
  for (const char* text : {"Z", "Zg=", "Zg===", "Z===", "====", "=", "Zh", "Zm9=", "Zm 9",
                           "Zg==Zg==", "Zm9v\n", "Zm9*"}) {
    BOOST_TEST(!decode_base64(text), text);
  }
}

BOOST_AUTO_TEST_CASE(all_bytes_come_back) {
  std::mt19937 random(7);
  for (std::size_t size = 0; size < 100; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    BOOST_TEST((decode_base64(encode_base64(bytes)) == bytes), "size " << size);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
