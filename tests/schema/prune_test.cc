#include "schema/prune.h"

#include <boost/test/unit_test.hpp>

#include "schema/protojson.h"
#include "tests/schema/settings_tree.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;

BOOST_AUTO_TEST_SUITE(pruning)

BOOST_AUTO_TEST_CASE(every_leaf_in_every_state_is_pruned_to_what_is_stored) {
  for (const LeafPlace& place : all_leaf_places()) {
    for (int state = 0; state < 3; ++state) {
      for (const std::string token : {"", "4"}) {
        st::Settings settings, expected;
        fill_leaf(place.make_in(&settings), state, token);
        if (state != st::SETTING_STATE_INHERIT) {
          auto* leaf = place.make_in(&expected);
          fill_leaf(leaf, state, state == st::SETTING_STATE_VALUE ? token : "");
          leaf->GetReflection()->ClearField(leaf,
                                            leaf->GetDescriptor()->FindFieldByName("scope_level"));
        }
        prune(&settings);
        BOOST_TEST(write_json(settings) == write_json(expected),
                   place.path() << " state " << state << " token '" << token << "'");
        const std::string once = write_json(settings);
        prune(&settings);
        BOOST_TEST(write_json(settings) == once, "twice: " << place.path());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(empty_messages_are_dropped_at_every_depth) {
  st::Settings settings;
  settings.mutable_run();
  settings.mutable_task_resource()->mutable_min()->mutable_cpu();
  settings.mutable_task_resource()->mutable_max();
  settings.mutable_labels()->mutable_map_value();
  settings.mutable_annotations()->set_state(st::SETTING_STATE_VALUE);
  settings.mutable_annotations()->mutable_map_value();
  prune(&settings);
  BOOST_TEST(write_json(settings) == R"({"annotations":{"state":"SETTING_STATE_VALUE"}})");
}

BOOST_AUTO_TEST_CASE(one_leaf_that_says_something_keeps_its_group_and_not_its_neighbours) {
  st::Settings settings;
  settings.mutable_run()->mutable_default_queue()->set_string_value("lost");
  settings.mutable_run()->mutable_run_base_dir()->set_state(st::SETTING_STATE_UNSET);
  prune(&settings);
  BOOST_TEST(write_json(settings) == R"({"run":{"runBaseDir":{"state":"SETTING_STATE_UNSET"}}})");
}

BOOST_AUTO_TEST_CASE(fields_that_are_not_known_are_dropped) {
  st::Settings settings;
  BOOST_REQUIRE(settings.ParseFromString("\x0a\x03\xf8\x07\x01\xf8\x07\x01"));
  BOOST_REQUIRE(settings.ByteSizeLong() > 0);
  prune(&settings);
  BOOST_TEST(settings.ByteSizeLong() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
