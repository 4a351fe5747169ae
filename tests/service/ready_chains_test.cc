#include "service/ready_chains.h"

#include <boost/test/unit_test.hpp>

namespace writ {
namespace {

namespace st = flyteidl2::settings;

std::shared_ptr<const StoredSettings> record(const std::string& queue) {
  auto stored = std::make_shared<StoredSettings>();
  stored->version = 1;
  auto* leaf = stored->settings.mutable_run()->mutable_default_queue();
  leaf->set_state(st::SETTING_STATE_VALUE);
  leaf->set_string_value(queue);
  return stored;
}

std::string queue(const ReadyChain& chain) {
  return chain.settings.resolved.settings().run().default_queue().string_value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ready_chains)

BOOST_AUTO_TEST_CASE(the_same_records_are_made_ready_once_and_others_for_themselves) {
  ReadyChains chains;
  const auto top = record("top");
  const auto low = record("low");
  const auto ready = chains.ready({top, nullptr, low});
  BOOST_CHECK_EQUAL(queue(*ready), "low");
  BOOST_CHECK(chains.ready({top, nullptr, low}) == ready);
  // Equal, but of another scope, another object, or not there.
  BOOST_CHECK(chains.ready({top, low, nullptr}) != ready);
  BOOST_CHECK(chains.ready({top, nullptr, record("low")}) != ready);
  BOOST_CHECK_EQUAL(queue(*chains.ready({top, nullptr, record("changed")})), "changed");
  BOOST_CHECK_EQUAL(queue(*chains.ready({top, nullptr, nullptr})), "top");
  BOOST_CHECK_EQUAL(queue(*chains.ready({nullptr, nullptr, nullptr})), "");
  BOOST_CHECK(chains.ready({top, nullptr, low}) == ready);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_made_ready_each_time) {
  ReadyChains chains(1);
  const auto top = record("top");
  const auto ready = chains.ready({top, nullptr, nullptr});
  BOOST_CHECK(chains.ready({top, nullptr, nullptr}) != ready);
}

BOOST_AUTO_TEST_CASE(where_a_setting_goes_back_to_is_asked_once_for_each_scope) {
  ChainOrigins origins;
  std::vector<std::string> asked;
  const auto look_up = [&](const std::vector<SettingSource>& sources) {
    std::vector<Position> positions;
    for (const SettingSource& source : sources) {
      asked.push_back(std::string(source.setting) + std::to_string(source.scope_level));
      positions.push_back({static_cast<std::int64_t>(asked.size())});
    }
    return positions;
  };
  const SettingSource a{"a", st::SCOPE_LEVEL_ORG}, b{"b", st::SCOPE_LEVEL_ORG};
  const SettingSource other{"a", st::SCOPE_LEVEL_PROJECT};
  const auto values = [&](const std::vector<SettingSource>& sources) {
    std::vector<std::int64_t> found;
    for (const Position position : origins.find(sources, look_up)) found.push_back(position.value);
    return found;
  };
  BOOST_TEST(values({a, b, a}) == (std::vector<std::int64_t>{1, 2, 1}));
  BOOST_TEST(values({b, other, a, other}) == (std::vector<std::int64_t>{2, 3, 1, 3}));
  BOOST_TEST(values({other, b}) == (std::vector<std::int64_t>{3, 2}));
  BOOST_TEST(values({}).empty());
  BOOST_TEST(asked == (std::vector<std::string>{"a0", "b0", "a2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
