#include "schema/scope.h"

#include <boost/test/unit_test.hpp>

#include "flyteidl2/settings/settings_definition.pb.h"

namespace writ {
namespace {

BOOST_AUTO_TEST_SUITE(scope)

BOOST_AUTO_TEST_CASE(the_filled_segments_say_which_scope_a_key_names) {
  BOOST_TEST((ScopeKey{}.scope() == Scope::kInstance));
  BOOST_TEST((ScopeKey{"production", ""}.scope() == Scope::kDomain));
  BOOST_TEST((ScopeKey{"production", "analytics"}.scope() == Scope::kProject));
}

BOOST_AUTO_TEST_CASE(storage_keys_keep_empty_segments) {
  BOOST_TEST(ScopeKey{}.storage_key() == "v1:::");
  BOOST_TEST((ScopeKey{"production", ""}.storage_key()) == "v1::production:");
  BOOST_TEST((ScopeKey{"production", "analytics"}.storage_key()) == "v1::production:analytics");
}

BOOST_AUTO_TEST_CASE(the_chain_goes_from_the_instance_down_to_the_scope) {
  const ScopeKey instance, domain{"production", ""}, project{"production", "analytics"};
  BOOST_TEST((instance.levels() == std::vector{instance}));
  BOOST_TEST((domain.levels() == std::vector{instance, domain}));
  BOOST_TEST((project.levels() == std::vector{instance, domain, project}));
}

BOOST_AUTO_TEST_CASE(the_org_is_no_part_of_the_scope) {
  flyteidl2::settings::SettingsKey key;
  key.set_org("acme");
  key.set_domain("production");
  BOOST_TEST((scope_key(key) == ScopeKey{"production", ""}));
}

BOOST_AUTO_TEST_CASE(scope_numbers_are_those_of_the_wire) {
  using namespace flyteidl2::settings;
  BOOST_TEST(static_cast<int>(Scope::kInstance) == static_cast<int>(SCOPE_LEVEL_ORG));
  BOOST_TEST(static_cast<int>(Scope::kDomain) == static_cast<int>(SCOPE_LEVEL_DOMAIN));
  BOOST_TEST(static_cast<int>(Scope::kProject) == static_cast<int>(SCOPE_LEVEL_PROJECT));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
