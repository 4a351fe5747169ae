#include "schema/quote.h"

#include <boost/test/unit_test.hpp>

namespace writ {
namespace {

using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(quoting)

BOOST_AUTO_TEST_CASE(texts_are_quoted_as_go_does) {
  // Each pair was printed by Go's %q.
  const std::pair<std::string, std::string> rows[] = {
      {"", R"("")"},
      {"apple", R"("apple")"},
      {"say \"hi\" \\", R"("say \"hi\" \\")"},
      {"\a\b\f\n\r\t\v", R"("\a\b\f\n\r\t\v")"},
      {"\0\x01\x1f\x7f"s, R"("\x00\x01\x1f\x7f")"},
      {"it's", R"("it's")"},
      {"\xff\xc0\xaf", R"("\xff\xc0\xaf")"},
      {"\xed\xa0\x80", R"("\xed\xa0\x80")"},
      {"\xf4\x90\x80\x80", R"("\xf4\x90\x80\x80")"},
      {"\xe2\x82", R"("\xe2\x82")"},
      {"a\xe2\x82z", R"("a\xe2\x82z")"},
      {"caf\u00e9 \u65e5\u672c", "\"caf\u00e9 \u65e5\u672c\""},
      {"\u0080\u009f\u00a0\u00ad", R"("\u0080\u009f\u00a0\u00ad")"},
      {"\u2028\u200b\u3000", R"("\u2028\u200b\u3000")"},
      {"\ufeff\uffff\ufffd", "\"\\ufeff\\uffff\ufffd\""},
      {"\U0001f600", "\"\U0001f600\""},
      {"\U000e0001\U0010ffff", R"("\U000e0001\U0010ffff")"},
      {"\uff11", "\"\uff11\""},
  };
  for (const auto& [text, quoted] : rows) BOOST_TEST(quote(text) == quoted);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
