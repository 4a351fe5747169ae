#include "schema/leaf.h"

#include <boost/test/unit_test.hpp>

#include "tests/schema/settings_tree.h"
#include "writ/schema/v1/rules.pb.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;

BOOST_AUTO_TEST_SUITE(leaves)

BOOST_AUTO_TEST_CASE(leaf_types_are_told_by_their_fields) {
  for (const auto* type :
       {st::StringSetting::descriptor(), st::Int64Setting::descriptor(),
        st::BoolSetting::descriptor(), st::StringMapSetting::descriptor(),
        st::QuantitySetting::descriptor(), st::AcceleratorSetting::descriptor()}) {
    BOOST_TEST(is_leaf(*type), type->name());
    BOOST_TEST(leaf_shape(*type)->value->number() == 2, type->name());
    BOOST_TEST(leaf_shape(*type)->is_string_map() == (type->name() == "StringMapSetting"));
  }
  for (const auto* type :
       {st::Settings::descriptor(), st::RunSettings::descriptor(), st::StringMap::descriptor(),
        st::SettingsKey::descriptor(), st::TaskResourceDefaults::descriptor()}) {
    BOOST_TEST(!is_leaf(*type), type->name());
  }
}

BOOST_AUTO_TEST_CASE(every_leaf_is_visited_once_in_field_order_with_its_path) {
  st::Settings settings;
  std::vector<std::string> expected, visited;
  for (const LeafPlace& place : all_leaf_places()) {
    fill_leaf(place.make_in(&settings), st::SETTING_STATE_VALUE, "1");
    expected.push_back(place.path());
  }
  for_each_leaf(settings, [&](const Leaf& leaf) {
    visited.push_back(leaf.path);
    BOOST_TEST(leaf.field->name() == leaf.path.substr(leaf.path.rfind('.') + 1));
    BOOST_TEST(leaf.has_value());
  });
  BOOST_TEST(visited == expected, boost::test_tools::per_element());
  BOOST_TEST(visited.size() == 21U);
  BOOST_TEST(visited.front() == "run.default_queue");
  BOOST_TEST(visited.back() == "pod_template_name");
}

BOOST_AUTO_TEST_CASE(absent_leaves_are_not_visited) {
  st::Settings settings;
  settings.mutable_run();
  settings.mutable_app()->mutable_disallow_anonymous();
  std::vector<std::string> visited;
  for_each_leaf(settings, [&](const Leaf& leaf) { visited.push_back(leaf.path); });
  BOOST_TEST(visited == std::vector<std::string>{"app.disallow_anonymous"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_field_of_the_tree_has_a_description) {
  for (const LeafPlace& place : all_leaf_places()) {
    for (const auto* step : place.steps) {
      const std::string& text = step->options().GetExtension(st::desc);
      BOOST_TEST(text.size() >= 10, step->full_name() << " needs a desc");
    }
  }
}

// A rule of the wrong kind would read a value that is not there.
BOOST_AUTO_TEST_CASE(every_rule_fits_the_leaf_it_stands_on) {
  using google::protobuf::FieldDescriptor;
  for (const LeafPlace& place : all_leaf_places()) {
    const auto& rules = place.steps.back()->options().GetExtension(schema::v1::rules);
    const LeafShape shape = leaf_shape(place.type()).value();
    const bool is_text = shape.value->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const bool is_integer = shape.value->cpp_type() == FieldDescriptor::CPPTYPE_INT64;
    const bool is_quantity = place.type().name() == "QuantitySetting";
    BOOST_TEST((!rules.has_integer() || is_integer), place.path());
    BOOST_TEST((!rules.has_text() || is_text), place.path());
    BOOST_TEST((!rules.has_map() || shape.is_string_map()), place.path());
    BOOST_TEST(rules.has_quantity() == is_quantity, place.path());
    BOOST_TEST(!rules.has_enum_option(), place.path() << ": belongs on a field of the value");
    BOOST_TEST(rules.upper_bound_of().empty(), place.path() << ": belongs on a group");
  }
}

BOOST_AUTO_TEST_CASE(every_name_in_a_rule_names_something) {
  const auto& bound = st::TaskResourceSettings::descriptor()->FindFieldByName("max")->options();
  BOOST_TEST(st::TaskResourceSettings::descriptor()->FindFieldByName(
      bound.GetExtension(schema::v1::rules).upper_bound_of()));
  const auto& device =
      flyteidl2::core::GPUAccelerator::descriptor()->FindFieldByName("device")->options();
  const auto& rule = device.GetExtension(schema::v1::rules).enum_option();
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  BOOST_TEST(pool->FindEnumTypeByName(rule.enum_()));
  BOOST_TEST(pool->FindExtensionByName(rule.option()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
