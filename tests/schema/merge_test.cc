#include "schema/merge.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <map>

#include "schema/protojson.h"
#include "schema/prune.h"
#include "tests/schema/settings_tree.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;

/// What one level says about one leaf. Enough for every rule of merging.
enum Said { kAbsent, kInherit, kUnset, kValue, kEmptyValue, kSaidCount };

constexpr std::array<Scope, 3> kScopes{Scope::kInstance, Scope::kDomain, Scope::kProject};

std::string token_of(std::size_t level) { return std::to_string(level); }

/// The leaf as one level says it.
void say(Said said, std::size_t level, const LeafPlace& place, st::Settings* settings) {
  switch (said) {
    case kAbsent:
      return;
    case kInherit:
      // With a value, as a careless client sends it.
      return fill_leaf(place.make_in(settings), st::SETTING_STATE_INHERIT, token_of(level));
    case kUnset:
      return fill_leaf(place.make_in(settings), st::SETTING_STATE_UNSET, token_of(level));
    case kValue:
      return fill_leaf(place.make_in(settings), st::SETTING_STATE_VALUE, token_of(level));
    default:
      return fill_leaf(place.make_in(settings), st::SETTING_STATE_VALUE, "");
  }
}

std::vector<std::array<Said, 3>> all_chains() {
  std::vector<std::array<Said, 3>> chains;
  for (int i = 0; i < kSaidCount * kSaidCount * kSaidCount; ++i) {
    chains.push_back({static_cast<Said>(i % kSaidCount),
                      static_cast<Said>(i / kSaidCount % kSaidCount),
                      static_cast<Said>(i / kSaidCount / kSaidCount)});
  }
  return chains;
}

/// The merged leaf by a model that knows nothing of messages: the last level that speaks wins.
void expect_scalar(const std::array<Said, 3>& chain, const LeafPlace& place,
                   st::Settings* expected) {
  for (std::size_t level = 3; level-- > 0;) {
    const Said said = chain[level];
    if (said == kAbsent || said == kInherit) continue;
    auto* leaf = place.make_in(expected);
    fill_leaf(leaf, said == kUnset ? st::SETTING_STATE_UNSET : st::SETTING_STATE_VALUE,
              said == kValue ? token_of(level) : "");
    leaf->GetReflection()->SetEnumValue(leaf, leaf->GetDescriptor()->FindFieldByName("scope_level"),
                                        static_cast<int>(level));
    return;
  }
}

/// The same for maps: entries gather, UNSET empties, and the last that speaks gives state and
/// level.
void expect_map(const std::array<Said, 3>& chain, const LeafPlace& place, st::Settings* expected) {
  std::map<std::string, std::string> entries;
  std::optional<st::StringMapSetting> merged;
  for (std::size_t level = 0; level < 3; ++level) {
    const Said said = chain[level];
    if (said == kAbsent || said == kInherit) continue;
    merged.emplace();
    merged->set_state(said == kUnset ? st::SETTING_STATE_UNSET : st::SETTING_STATE_VALUE);
    merged->set_scope_level(static_cast<st::ScopeLevel>(level));
    if (said == kUnset) entries.clear();
    if (said == kValue) {
      entries["all"] = token_of(level);
      entries["only " + token_of(level)] = token_of(level);
    }
  }
  if (!merged) return;
  if (!entries.empty()) {
    merged->mutable_map_value()->mutable_entries()->insert(entries.begin(), entries.end());
  }
  place.make_in(expected)->CopyFrom(*merged);
}

std::string show(const std::array<Said, 3>& chain) {
  const char* names[] = {"absent", "INHERIT", "UNSET", "VALUE", "empty VALUE"};
  return std::string(names[chain[0]]) + " / " + names[chain[1]] + " / " + names[chain[2]];
}

void check_chain(const std::array<Said, 3>& chain, const LeafPlace& place, bool pruned) {
  std::array<st::Settings, 3> stored;
  std::vector<Level> levels;
  for (std::size_t level = 0; level < 3; ++level) {
    say(chain[level], level, place, &stored[level]);
    if (pruned) prune(&stored[level]);
    levels.push_back({kScopes[level], &stored[level]});
  }
  st::Settings expected;
  if (place.type().name() == "StringMapSetting") {
    expect_map(chain, place, &expected);
  } else {
    expect_scalar(chain, place, &expected);
  }
  const st::Settings merged = merge(levels);
  // UNSET has no value in the model; fill_leaf gave it none.
  BOOST_TEST(write_json(merged) == write_json(expected),
             place.path() << ": " << show(chain) << (pruned ? ", pruned" : ", unpruned"));
}

BOOST_AUTO_TEST_SUITE(merging)

BOOST_AUTO_TEST_CASE(every_leaf_merges_by_the_rules_in_every_chain_of_states) {
  int checked = 0;
  for (const LeafPlace& place : all_leaf_places()) {
    for (const auto& chain : all_chains()) {
      check_chain(chain, place, true);
      check_chain(chain, place, false);
      ++checked;
    }
  }
  BOOST_TEST(checked == 21 * 125);
}

BOOST_AUTO_TEST_CASE(an_accelerator_is_never_mixed_from_two_levels) {
  st::Settings parent, child;
  auto* wide = parent.mutable_task_resource()->mutable_default_accelerator();
  wide->set_state(st::SETTING_STATE_VALUE);
  wide->mutable_accelerator_value()->set_device("nvidia-a100");
  wide->mutable_accelerator_value()->set_partition_size("1g.5gb");
  auto* narrow = child.mutable_task_resource()->mutable_default_accelerator();
  narrow->set_state(st::SETTING_STATE_VALUE);
  narrow->mutable_accelerator_value()->set_device("nvidia-h100");
  const auto merged = merge({{Scope::kInstance, &parent}, {Scope::kProject, &child}});
  BOOST_TEST(
      write_json(merged) ==
      R"({"taskResource":{"defaultAccelerator":{"state":"SETTING_STATE_VALUE",)"
      R"("acceleratorValue":{"device":"nvidia-h100"},"scopeLevel":"SCOPE_LEVEL_PROJECT"}}})");
}

BOOST_AUTO_TEST_CASE(leaves_of_one_group_come_from_different_levels) {
  st::Settings parent, child;
  parent.mutable_run()->mutable_default_queue()->set_state(st::SETTING_STATE_VALUE);
  parent.mutable_run()->mutable_default_queue()->set_string_value("slow");
  child.mutable_run()->mutable_run_base_dir()->set_state(st::SETTING_STATE_UNSET);
  const auto merged = merge({{Scope::kInstance, &parent}, {Scope::kDomain, &child}});
  BOOST_TEST(write_json(merged) ==
             R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":"slow"},)"
             R"("runBaseDir":{"state":"SETTING_STATE_UNSET","scopeLevel":"SCOPE_LEVEL_DOMAIN"}}})");
}

BOOST_AUTO_TEST_CASE(a_chain_without_levels_merges_to_nothing) {
  BOOST_TEST(write_json(merge({})) == "{}");
  BOOST_TEST(write_json(merge({{Scope::kInstance, nullptr}})) == "{}");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
