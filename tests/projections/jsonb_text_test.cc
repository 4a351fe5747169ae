#include "schema/jsonb_text.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "events/connection.h"
#include "tests/support/test_database.h"

namespace writ {
namespace {

/// A random JSON text, with white space and every spelling of a number.
std::string random_json(std::mt19937_64& engine, int depth) {
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine); };
  const char* const blanks[] = {"", " ", "\n\t", ""};
  const auto blank = [&] { return std::string(blanks[pick(4)]); };
  const char* const names[] = {"a", "b", "aa", "é", "\\u00e9", "", "\\\"", "zz", "long name"};
  std::string out;
  const int kind = pick(depth > 0 ? 6 : 4);
  if (kind == 0) return pick(2) == 0 ? "true" : "null";
  if (kind == 1) return std::string("\"") + names[pick(9)] + "\\n\\u0001\\/\x7f\"";
  if (kind < 4) {
    if (pick(2) == 0) out += '-';
    out += pick(3) == 0 ? "0" : std::to_string(1 + pick(100'000));
    if (pick(2) == 0)
      out += "." + std::string(static_cast<std::size_t>(pick(3)), '0') + std::to_string(pick(1000));
    if (pick(2) == 0) {
      out += pick(2) == 0 ? "e" : "E";
      if (const int sign = pick(3); sign > 0) out += sign == 1 ? "+" : "-";
      out += std::to_string(pick(30));
    }
    return out;
  }
  const bool object = kind == 4;
  out += object ? "{" : "[";
  const int count = pick(5);
  for (int i = 0; i < count; ++i) {
    out += i > 0 ? "," + blank() : blank();
    if (object) out += std::string("\"") + names[pick(9)] + "\"" + blank() + ":" + blank();
    out += random_json(engine, depth - 1) + blank();
  }
  return out + (object ? "}" : "]");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(jsonb_text_tests)

BOOST_AUTO_TEST_CASE(it_is_what_postgresql_makes_of_a_text) {
  const TestDatabase database;
  Connection connection(database.owner());
  std::mt19937_64 engine(20261130);
  std::vector<std::string> texts = {
      "-0",     "-0.00",  "0e5",    "1e300",
      "1E-300", "0.10e1", "100e-2", "123456789012345678901234567890.10"};
  for (int i = 0; i < 500; ++i) texts.push_back(random_json(engine, 4));
  for (const std::string& text : texts) BOOST_TEST_CONTEXT(text)
  BOOST_CHECK_EQUAL(jsonb_text(text).value_or("none"),
                    connection.exec_params("SELECT $1::jsonb::text", {text})[0][0].c_str());
}

BOOST_AUTO_TEST_CASE(what_is_no_json_gives_nothing) {
  for (const char* text : {"", "{", "nul", "{\"a\":1,}", "1 2", "1e99999999", "'a'"})
    BOOST_CHECK_MESSAGE(!jsonb_text(text), text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
