#include "events/storable_text.h"

#include <boost/test/unit_test.hpp>

#include "events/connection.h"
#include "tests/support/test_database.h"

namespace writ {

BOOST_AUTO_TEST_CASE(what_is_storable_is_what_postgresql_stores) {
  using namespace std::string_literals;
  struct Row {
    std::string text;
    bool storable;
  };
  const Row rows[] = {
      {"", true},
      {"plain \x01\x1f\x7f", true},
      {"é稳🚀\u2028\ufffe\uffff\U0010ffff", true},
      {"a\0b"s, false},
      {"\0"s, false},
      {"\x80", false},
      {"a\xff", false},
      {"\xc3", false},
      {"\xe7\xa8", false},
      {"\xc0\xaf", false},          // overlong
      {"\xed\xa0\x80", false},      // a surrogate
      {"\xf4\x90\x80\x80", false},  // beyond U+10FFFF
  };
  const TestDatabase database = TestDatabase::empty();
  Connection connection(database.owner());
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.text) {
      BOOST_CHECK_EQUAL(is_storable(row.text), row.storable);
      bool stored = false;
      try {
        const pqxx::result found = connection.exec_params("SELECT $1::text", {row.text});
        stored = found[0][0].as<std::string>() == row.text;
      } catch (const StorageError&) {
      }
      BOOST_CHECK_EQUAL(stored, row.storable);
    }
  }
}

}  // namespace writ
