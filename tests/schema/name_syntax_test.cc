#include "schema/name_syntax.h"

#include <boost/test/unit_test.hpp>
#include <string>

namespace writ {
namespace {

using namespace schema::v1;

struct Row {
  Syntax syntax;
  std::string text;
  bool ok;
};

BOOST_AUTO_TEST_SUITE(name_syntax)

BOOST_AUTO_TEST_CASE(names_are_judged_as_kubernetes_does) {
  const auto many = [](std::size_t count) { return std::string(count, 'a'); };
  const Row rows[] = {
      {SYNTAX_LABEL_KEY, "app", true},
      {SYNTAX_LABEL_KEY, "App.kubernetes_io-x", true},
      {SYNTAX_LABEL_KEY, "example.com/app", true},
      {SYNTAX_LABEL_KEY, many(63), true},
      {SYNTAX_LABEL_KEY, many(64), false},
      {SYNTAX_LABEL_KEY, many(253) + "/a", true},
      {SYNTAX_LABEL_KEY, many(254) + "/a", false},
      {SYNTAX_LABEL_KEY, "Example.com/app", false},
      {SYNTAX_LABEL_KEY, "/app", false},
      {SYNTAX_LABEL_KEY, "example.com/", false},
      {SYNTAX_LABEL_KEY, "a/b/c", false},
      {SYNTAX_LABEL_KEY, "", false},
      {SYNTAX_LABEL_KEY, "-app", false},
      {SYNTAX_LABEL_KEY, "app.", false},
      {SYNTAX_LABEL_KEY, "a b", false},
      {SYNTAX_LABEL_VALUE, "", true},
      {SYNTAX_LABEL_VALUE, "V1.2_3-x", true},
      {SYNTAX_LABEL_VALUE, many(63), true},
      {SYNTAX_LABEL_VALUE, many(64), false},
      {SYNTAX_LABEL_VALUE, "a/b", false},
      {SYNTAX_LABEL_VALUE, "_a", false},
      {SYNTAX_LABEL_VALUE, "\xc3\xa9", false},
      {SYNTAX_ANNOTATION_KEY, "Example.COM/Note", true},
      {SYNTAX_ANNOTATION_KEY, "note", true},
      {SYNTAX_ANNOTATION_KEY, "a b", false},
      {SYNTAX_ENVIRONMENT_VARIABLE, "LOG_LEVEL", true},
      {SYNTAX_ENVIRONMENT_VARIABLE, "_a.b-c9", true},
      {SYNTAX_ENVIRONMENT_VARIABLE, "-a", true},
      {SYNTAX_ENVIRONMENT_VARIABLE, "...", true},
      {SYNTAX_ENVIRONMENT_VARIABLE, ".", false},
      {SYNTAX_ENVIRONMENT_VARIABLE, "..", false},
      {SYNTAX_ENVIRONMENT_VARIABLE, "", false},
      {SYNTAX_ENVIRONMENT_VARIABLE, "9lives", false},
      {SYNTAX_ENVIRONMENT_VARIABLE, "A=B", false},
      {SYNTAX_ENVIRONMENT_VARIABLE, "A B", false},
      {SYNTAX_DNS_SUBDOMAIN, "default", true},
      {SYNTAX_DNS_SUBDOMAIN, "a.b-c.9", true},
      {SYNTAX_DNS_SUBDOMAIN, many(253), true},
      {SYNTAX_DNS_SUBDOMAIN, many(254), false},
      {SYNTAX_DNS_SUBDOMAIN, "Default", false},
      {SYNTAX_DNS_SUBDOMAIN, "a_b", false},
      {SYNTAX_DNS_SUBDOMAIN, "a..b", false},
      {SYNTAX_DNS_SUBDOMAIN, "a-.b", false},
      {SYNTAX_DNS_SUBDOMAIN, "a.-b", false},
      {SYNTAX_DNS_SUBDOMAIN, ".a", false},
      {SYNTAX_DNS_SUBDOMAIN, "a.", false},
      {SYNTAX_DNS_SUBDOMAIN, "-a", false},
      {SYNTAX_DNS_SUBDOMAIN, "a-", false},
      {SYNTAX_DNS_SUBDOMAIN, "", false},
      {SYNTAX_ANY, "any thing\n", true},
  };
  for (const Row& row : rows) {
    BOOST_TEST(broken_syntax(row.syntax, row.text).empty() == row.ok,
               Syntax_Name(row.syntax) << " '" << row.text << "'");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
