#include "events/array_literal.h"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "events/connection.h"
#include "tests/support/test_database.h"

namespace writ {
namespace {

std::string all_bytes() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string all_ascii() {
  std::string text;
  for (char c = 1; c < 0x7f; ++c) text += c;
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(array_literal_tests)

BOOST_AUTO_TEST_CASE(the_text_form_is_postgresqls) {
  const auto literal = [](const auto& fill) {
    ArrayLiteral array;
    fill(array);
    return std::move(array).take();
  };
  BOOST_CHECK_EQUAL(literal([](ArrayLiteral& array) {
                      array.add("a");
                      array.add("b\"c\\d");
                    }),
                    R"({"a","b\"c\\d"})");
  BOOST_CHECK_EQUAL(literal([](ArrayLiteral& array) {
                      array.add(std::int64_t{-1});
                      array.add(std::int64_t{2});
                    }),
                    "{-1,2}");
  BOOST_CHECK_EQUAL(literal([](ArrayLiteral& array) { array.add_bytes(std::string("\0\xff", 2)); }),
                    R"({"\\x00ff"})");
  BOOST_CHECK_EQUAL(literal([](ArrayLiteral&) {}), "{}");
}

BOOST_AUTO_TEST_CASE(hostile_texts_come_back_from_postgresql) {
  const std::string texts[] = {
      "",         " ",   "NULL",   "null",   "{}",     "{",         "}",
      ",",        "a,b", "\"",     "\\",     "\\\"",   "\"\\",      "'",
      "''",       "\n",  "\r\n\t", "\\x00",  "\\\\",   "$1",        "; DROP TABLE events",
      " padded ", "é",   "🚀",      "\u2028", "\u00a0", all_ascii(), std::string(100'000, '"')};
  const TestDatabase database = TestDatabase::empty();
  Connection connection(database.owner());
  ArrayLiteral array;
  for (const std::string& text : texts) array.add(text);
  const pqxx::result rows = connection.exec_params(
      "SELECT t FROM unnest($1::text[]) WITH ORDINALITY AS a (t, n) ORDER BY n",
      {std::move(array).take()});
  BOOST_REQUIRE_EQUAL(rows.size(), std::size(texts));
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    const auto row = rows[static_cast<pqxx::result::size_type>(i)];
    BOOST_CHECK(!row[0].is_null());
    BOOST_CHECK_EQUAL(row[0].as<std::string>(), texts[i]);
  }
}

BOOST_AUTO_TEST_CASE(bytes_and_numbers_come_back_from_postgresql) {
  const TestDatabase database = TestDatabase::empty();
  Connection connection(database.owner());
  ArrayLiteral bytes;
  bytes.add_bytes("");
  bytes.add_bytes(all_bytes());
  const pqxx::result hex_rows = connection.exec_params(
      "SELECT encode(b, 'escape') = '', length(b), encode(sha256(b), 'hex') FROM "
      "unnest($1::bytea[]) WITH ORDINALITY"
      " AS a (b, n) ORDER BY n",
      {std::move(bytes).take()});
  BOOST_CHECK_EQUAL(hex_rows[0][0].as<bool>(), true);
  BOOST_CHECK_EQUAL(hex_rows[1][1].as<int>(), 256);
  BOOST_CHECK_EQUAL(hex_rows[1][2].c_str(),
                    "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880");
  ArrayLiteral numbers;
  numbers.add(std::numeric_limits<std::int64_t>::min());
  numbers.add(std::numeric_limits<std::int64_t>::max());
  const pqxx::result ends = connection.exec_params(
      "SELECT min(n), max(n) FROM unnest($1::bigint[]) n", {std::move(numbers).take()});
  BOOST_CHECK_EQUAL(ends[0][0].as<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  BOOST_CHECK_EQUAL(ends[0][1].as<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
