#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/message_differencer.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <thread>

#include "flyteidl2/settings/settings_service.pb.h"
#include "schema/protojson.h"
#include "tests/schema/json_outcome.h"
#include "writ/test/all_kinds.pb.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;
using test::AllKinds;

JsonRead read(const std::string& json, google::protobuf::Message* out) {
  return read_json(json, out, JsonMode::kRequest);
}

/// Reads what must be readable.
AllKinds kinds(const std::string& json) {
  AllKinds message;
  const JsonRead result = read(json, &message);
  BOOST_REQUIRE_MESSAGE(!result.error, json << ": " << outcome(result));
  return message;
}

std::string refusal(const std::string& json) {
  AllKinds message;
  const JsonRead result = read(json, &message);
  return result.error ? result.error->message() : "";
}

struct Refused {
  std::string json;
  std::string message;
};

void check_refused(const std::vector<Refused>& rows) {
  for (const Refused& row : rows) BOOST_TEST(refusal(row.json) == row.message, row.json);
}

/// `depth` arrays, one in another.
std::string arrays(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

BOOST_AUTO_TEST_SUITE(reading_json)

BOOST_AUTO_TEST_CASE(scalars_are_read_in_every_spelling) {
  const AllKinds message = kinds(R"({
    "aBool": true, "anInt32": -2147483648, "aSint32": "7", "anSfixed32": 1e2, "aUint32": 4294967295,
    "aFixed32": "4294967295", "anInt64": "-9223372036854775808", "aSint64": 9223372036854775807,
    "anSfixed64": 5.0, "aUint64": 18446744073709551615, "aFixed64": "18446744073709551615",
    "aFloat": 1.5, "aDouble": "-2.5e-3", "aString": "caf\u00e9 \ud83d\ude00", "someBytes": "+/8=",
    "aColor": "COLOR_RED", "anOptional": 0, "nested": {"aColor": -2}})");
  BOOST_TEST(message.a_bool());
  BOOST_TEST(message.an_int32() == std::numeric_limits<std::int32_t>::min());
  BOOST_TEST(message.a_sint32() == 7);
  BOOST_TEST(message.an_sfixed32() == 100);
  BOOST_TEST(message.a_uint32() == 4294967295U);
  BOOST_TEST(message.a_fixed32() == 4294967295U);
  BOOST_TEST(message.an_int64() == std::numeric_limits<std::int64_t>::min());
  BOOST_TEST(message.a_sint64() == std::numeric_limits<std::int64_t>::max());
  BOOST_TEST(message.an_sfixed64() == 5);
  BOOST_TEST(message.a_uint64() == std::numeric_limits<std::uint64_t>::max());
  BOOST_TEST(message.a_fixed64() == std::numeric_limits<std::uint64_t>::max());
  BOOST_TEST(message.a_float() == 1.5F);
  BOOST_TEST(message.a_double() == -2.5e-3);
  BOOST_TEST(message.a_string() == "caf\u00e9 \U0001f600");
  BOOST_TEST(message.some_bytes() == "\xfb\xff");
  BOOST_TEST((message.a_color() == test::COLOR_RED));
  BOOST_TEST((message.nested().a_color() == test::COLOR_BLUE));
  BOOST_TEST(message.has_an_optional());
}

BOOST_AUTO_TEST_CASE(floating_point_numbers_have_three_words) {
  const AllKinds message =
      kinds(R"({"aFloat":"NaN","aDouble":"-Infinity","doubles":["Infinity",-0.0,1e-400]})");
  BOOST_TEST(std::isnan(message.a_float()));
  BOOST_TEST((message.a_double() == -std::numeric_limits<double>::infinity()));
  BOOST_TEST((message.doubles(0) == std::numeric_limits<double>::infinity()));
  BOOST_TEST(std::signbit(message.doubles(1)));
  BOOST_TEST(message.doubles(2) == 0);
}

BOOST_AUTO_TEST_CASE(both_names_of_a_field_are_read) {
  BOOST_TEST(kinds(R"({"an_int32":3})").an_int32() == 3);
  BOOST_TEST(kinds(R"({"anInt32":3})").an_int32() == 3);
  st::GetSettingsResponse response;
  BOOST_TEST(!read(R"({"settingsRecord":{"version":"5"}})", &response).error);
  BOOST_TEST(response.settingsrecord().version() == 5U);
}

BOOST_AUTO_TEST_CASE(null_is_absent) {
  const AllKinds message = kinds(
      R"({"aBool":null,"nested":null,"int32s":null,"byString":null,"timestamp":null,
          "anOptional":null,"stringValue":null,"firstChoice":null,"secondChoice":{}})");
  BOOST_TEST(message.ByteSizeLong() == AllKinds(kinds(R"({"secondChoice":{}})")).ByteSizeLong());
  BOOST_TEST(message.has_second_choice());
}

BOOST_AUTO_TEST_CASE(null_is_a_value_where_the_type_says_so) {
  const AllKinds message = kinds(R"({"value":null,"values":[null,1],"thirdChoice":null})");
  BOOST_TEST((message.value().kind_case() == google::protobuf::Value::kNullValue));
  BOOST_TEST(message.values_size() == 2);
  BOOST_TEST((message.choice_case() == AllKinds::kThirdChoice));
}

BOOST_AUTO_TEST_CASE(lists_and_maps_are_read) {
  const AllKinds message = kinds(R"({
    "bools":[true,false],"int32s":[1,"2"],"uint32s":[3],"int64s":["-4"],"uint64s":[5],
    "floats":[0.5],"doubles":[0.25],"strings":["a",""],"bytesList":["YQ"],
    "colors":["COLOR_BLUE",1],"messages":[{"aBool":true},{}],
    "byString":{"":"e","k":"v"},"byBool":{"true":1,"false":2},"byInt32":{"-1":true},
    "byInt64":{"-9223372036854775808":1.5},"byUint32":{"4294967295":"YQ=="},
    "byUint64":{"18446744073709551615":"COLOR_RED"},"messageByString":{"m":{"anInt32":9}}})");
  BOOST_TEST(message.bools_size() == 2);
  BOOST_TEST(message.int32s(1) == 2);
  BOOST_TEST(message.uint32s(0) == 3U);
  BOOST_TEST(message.int64s(0) == -4);
  BOOST_TEST(message.uint64s(0) == 5U);
  BOOST_TEST(message.floats(0) == 0.5F);
  BOOST_TEST(message.doubles(0) == 0.25);
  BOOST_TEST(message.strings_size() == 2);
  BOOST_TEST(message.bytes_list(0) == "a");
  BOOST_TEST((message.colors(0) == test::COLOR_BLUE && message.colors(1) == test::COLOR_RED));
  BOOST_TEST(message.messages(0).a_bool());
  BOOST_TEST(message.messages_size() == 2);
  BOOST_TEST(message.by_string().at("") == "e");
  BOOST_TEST(message.by_string().at("k") == "v");
  BOOST_TEST(message.by_bool().at(true) == 1);
  BOOST_TEST(message.by_bool().at(false) == 2);
  BOOST_TEST(message.by_int32().at(-1));
  BOOST_TEST(message.by_int64().at(std::numeric_limits<std::int64_t>::min()) == 1.5);
  BOOST_TEST(message.by_uint32().at(4294967295U) == "a");
  BOOST_TEST((message.by_uint64().at(18446744073709551615U) == test::COLOR_RED));
  BOOST_TEST(message.message_by_string().at("m").an_int32() == 9);
}

BOOST_AUTO_TEST_CASE(well_known_types_are_read) {
  const AllKinds message = kinds(R"({
    "any":{"@type":"type.googleapis.com/writ.test.AllKinds","anInt32":5},
    "duration":"-1.5s","empty":{},"fieldMask":"aB.cD,e",
    "struct":{"n":1.5,"s":"t","b":true,"z":null,"l":[1,{"d":{}}]},"value":[1],"listValue":["a",[]],
    "timestamp":"2024-02-29T23:59:59.5+01:30","doubleValue":1.5,"floatValue":"NaN",
    "int64Value":"-1","uint64Value":2,"int32Value":3,"uint32Value":4,"boolValue":false,
    "stringValue":"","bytesValue":"YQ=="})");
  AllKinds inner;
  BOOST_REQUIRE(message.any().UnpackTo(&inner));
  BOOST_TEST(inner.an_int32() == 5);
  BOOST_TEST(message.duration().seconds() == -1);
  BOOST_TEST(message.duration().nanos() == -500'000'000);
  BOOST_TEST(message.has_empty());
  BOOST_TEST(message.field_mask().paths(0) == "a_b.c_d");
  BOOST_TEST(message.field_mask().paths(1) == "e");
  const auto& fields = message.struct_().fields();
  BOOST_TEST(fields.size() == 5U);
  BOOST_TEST(fields.at("n").number_value() == 1.5);
  BOOST_TEST(fields.at("l").list_value().values(1).struct_value().fields().contains("d"));
  BOOST_TEST((fields.at("z").kind_case() == google::protobuf::Value::kNullValue));
  BOOST_TEST(message.value().list_value().values_size() == 1);
  BOOST_TEST(message.list_value().values_size() == 2);
  BOOST_TEST(message.timestamp().seconds() == 1709245799);
  BOOST_TEST(message.timestamp().nanos() == 500'000'000);
  BOOST_TEST(message.double_value().value() == 1.5);
  BOOST_TEST(std::isnan(message.float_value().value()));
  BOOST_TEST(message.int64_value().value() == -1);
  BOOST_TEST(message.has_bool_value());
  BOOST_TEST(message.has_string_value());
  BOOST_TEST(message.bytes_value().value() == "a");
}

BOOST_AUTO_TEST_CASE(an_any_may_hold_a_well_known_type_and_name_its_type_last) {
  const AllKinds message = kinds(
      R"({"any":{"value":"1s","@type":"type.googleapis.com/google.protobuf.Duration"},
          "nested":{"any":{"anInt32":5,"@type":"x/writ.test.AllKinds"}},"second_choice":{"any":{}}})");
  google::protobuf::Duration duration;
  BOOST_REQUIRE(message.any().UnpackTo(&duration));
  BOOST_TEST(duration.seconds() == 1);
  BOOST_TEST(message.nested().any().type_url() == "x/writ.test.AllKinds");
  BOOST_TEST(message.second_choice().has_any());
}

BOOST_AUTO_TEST_CASE(an_any_is_the_same_bytes_whenever_it_is_read) {
  // Enough entries for a hash map to have them in another order each time.
  std::string entries;
  for (int i = 0; i < 50; ++i) entries += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"\"";
  const std::string json =
      R"({"any":{"@type":"x/writ.test.AllKinds","byString":{)" + entries + "}}}";
  const std::string bytes = kinds(json).any().value();
  for (int i = 0; i < 10; ++i) BOOST_TEST((kinds(json).any().value() == bytes));
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_refused) {
  check_refused({
      {"", "invalid JSON: the text is empty"},
      {" \n", "invalid JSON: the text is empty"},
      {"{", "invalid JSON: the text is malformed"},
      {"{} {}", "invalid JSON: the text is malformed"},
      {"{}x", "invalid JSON: the text is malformed"},
      {"{'aBool':true}", "invalid JSON: the text is malformed"},
      {"{\"aBool\":true,}", "invalid JSON: the text is malformed"},
      {"{\"aString\":\"a}", "invalid JSON: a string has no end"},
      {"{\"aString\":\"\\q\"}", "invalid JSON: a string is malformed"},
      {"{\"aString\":\"a\nb\"}", "invalid JSON: a string is malformed"},
      {"{\"aString\":\"\xff\"}", "invalid JSON: the text is not valid UTF-8"},
      {"{\"aString\":\"\xed\xa0\x80\"}", "invalid JSON: the text is not valid UTF-8"},
      {"{\"aString\":\"\\ud800\"}", "invalid JSON: a string is malformed"},
      {"{\"aString\":\"\\udc00\"}", "invalid JSON: a string is malformed"},
      {"{\"aString\":\"\\ud800\\u0041\"}", "invalid JSON: a string is malformed"},
      {"{\"\\ud800\":1}", "invalid JSON: a string is malformed"},
      {"{\"anInt32\":01}", "invalid JSON: a number is malformed or out of range"},
      {"{\"anInt32\":NaN}", "invalid JSON: the text is malformed"},
      {"{\"aDouble\":1e999}", "invalid JSON: a number is malformed or out of range"},
      {"{\"aUint64\":18446744073709551616}", "invalid JSON: a number is malformed or out of range"},
      {"[]", "invalid JSON: must be an object"},
      {"null", "invalid JSON: must be an object"},
      {"7", "invalid JSON: must be an object"},
  });
}

BOOST_AUTO_TEST_CASE(values_of_the_wrong_kind_are_refused_with_their_path) {
  const std::string int32 = "must be a whole number from -2147483648 to 2147483647";
  const std::string uint32 = "must be a whole number from 0 to 4294967295";
  const std::string int64 =
      "must be a whole number from -9223372036854775808 to 9223372036854775807";
  const std::string uint64 = "must be a whole number from 0 to 18446744073709551615";
  check_refused({
      {R"({"aBool":"true"})", "invalid a_bool: must be true or false"},
      {R"({"aBool":1})", "invalid a_bool: must be true or false"},
      {R"({"anInt32":2147483648})", "invalid an_int32: " + int32},
      {R"({"anInt32":1.5})", "invalid an_int32: " + int32},
      {R"({"anInt32":"x"})", "invalid an_int32: " + int32},
      {R"({"anInt32":" 1"})", "invalid an_int32: " + int32},
      {R"({"anInt32":"1 "})", "invalid an_int32: " + int32},
      {R"({"anInt32":"+1"})", "invalid an_int32: " + int32},
      {R"({"anInt32":"01"})", "invalid an_int32: " + int32},
      {R"({"anInt32":"0x1"})", "invalid an_int32: " + int32},
      {R"({"anInt32":""})", "invalid an_int32: " + int32},
      {R"({"anInt32":true})", "invalid an_int32: " + int32},
      {R"({"anInt32":[1]})", "invalid an_int32: " + int32},
      {R"({"aUint32":-1})", "invalid a_uint32: " + uint32},
      {R"({"aUint32":4294967296})", "invalid a_uint32: " + uint32},
      {R"({"anInt64":"9223372036854775808"})", "invalid an_int64: " + int64},
      {R"({"anInt64":9223372036854775808})", "invalid an_int64: " + int64},
      {R"({"anInt64":9223372036854775807.0})", "invalid an_int64: " + int64},
      {R"({"aUint64":"18446744073709551616"})", "invalid a_uint64: " + uint64},
      {R"({"aUint64":"-1"})", "invalid a_uint64: " + uint64},
      {R"({"aFloat":1e39})", "invalid a_float: must be a number in range"},
      {R"({"aFloat":"nan"})", "invalid a_float: must be a number in range"},
      {R"({"aDouble":"1e999"})", "invalid a_double: must be a number in range"},
      {R"({"aDouble":"1,5"})", "invalid a_double: must be a number in range"},
      {R"({"aDouble":{}})", "invalid a_double: must be a number in range"},
      {R"({"aString":1})", "invalid a_string: must be a string"},
      {R"({"someBytes":"*"})", "invalid some_bytes: must be base64"},
      {R"({"nested":[]})", "invalid nested: must be an object"},
      {R"({"nested":{"nested":{"aString":{}}}})",
       "invalid nested.nested.a_string: must be a string"},
      {R"({"int32s":{}})", "invalid int32s: must be an array"},
      {R"({"int32s":[1,"x"]})", "invalid int32s[1]: " + int32},
      {R"({"int32s":[null]})", "invalid int32s[0]: must not be null"},
      {R"({"messages":[{},{"aBool":0}]})", "invalid messages[1].a_bool: must be true or false"},
      {R"({"byString":[]})", "invalid by_string: must be an object"},
      {R"({"byString":{"a b":1}})", "invalid by_string[\"a b\"]: must be a string"},
      {R"({"byString":{"a":null}})", "invalid by_string[\"a\"]: must not be null"},
      {R"({"byBool":{"TRUE":1}})", "invalid by_bool[\"TRUE\"]: key must be true or false"},
      {R"({"byInt32":{"01":true}})",
       "invalid by_int32[\"01\"]: key must be a whole number in range"},
      {R"({"byInt32":{"2147483648":true}})",
       "invalid by_int32[\"2147483648\"]: key must be a whole number in range"},
      {R"({"byUint32":{"-1":""}})",
       "invalid by_uint32[\"-1\"]: key must be a whole number in range"},
      {R"({"messageByString":{"m":{"aBool":0}}})",
       "invalid message_by_string[\"m\"].a_bool: must be true or false"},
  });
}

BOOST_AUTO_TEST_CASE(unknown_enum_names_are_refused_with_a_hint) {
  check_refused({
      {R"({"aColor":"COLOR_GREEN"})", "invalid a_color: unknown writ.test.Color \"COLOR_GREEN\""},
      {R"({"aColor":"color_red"})",
       "invalid a_color: unknown writ.test.Color \"color_red\" (did you mean \"COLOR_RED\"?)"},
      {R"({"aColor":"1"})", "invalid a_color: unknown writ.test.Color \"1\""},
      {R"({"aColor":1.5})", "invalid a_color: must be the name or number of a writ.test.Color"},
      {R"({"aColor":2147483648})",
       "invalid a_color: must be the name or number of a writ.test.Color"},
      {R"({"aColor":true})", "invalid a_color: must be the name or number of a writ.test.Color"},
      {R"({"colors":["COLOR_RED","RED"]})",
       "invalid colors[1]: unknown writ.test.Color \"RED\" (did you mean \"COLOR_RED\"?)"},
  });
  BOOST_TEST(static_cast<int>(kinds(R"({"aColor":77})").a_color()) == 77);
}

BOOST_AUTO_TEST_CASE(malformed_well_known_types_are_refused) {
  const std::string time =
      "invalid timestamp: must be an RFC 3339 time such as 2025-01-31T12:00:00Z";
  const std::string seconds = "invalid duration: must be seconds such as 1.5s";
  const std::string mask = "invalid field_mask: must be camelCase field paths joined by commas";
  std::vector<Refused> rows{
      {R"({"any":{"anInt32":1}})", "invalid any: must have an \"@type\""},
      {R"({"any":{"@type":"type.googleapis.com/no.Such"}})",
       "invalid any.@type: must name a known message type"},
      {R"({"any":{"@type":7}})", "invalid any.@type: must name a known message type"},
      {R"({"any":{"@type":"x/writ.test.AllKinds","@type":"x/writ.test.AllKinds"}})",
       "invalid any[\"@type\"]: is given twice"},
      {R"({"any":{"@type":"x/google.protobuf.Duration"}})", "invalid any: must have a \"value\""},
      {R"({"any":{"@type":"x/writ.test.AllKinds","aBool":0}})",
       "invalid any.a_bool: must be true or false"},
      {R"({"any":{"@type":"x/google.protobuf.Value","value":)" + arrays(60) + "}}",
       "invalid any: nests too deep for an Any"},
      {R"({"thirdChoice":5})", "invalid third_choice: must be null"},
      {R"({"fieldMask":"a_b"})", mask},
      {R"({"fieldMask":",a"})", mask},
      {R"({"fieldMask":"a,"})", "invalid field_mask: must not end with a comma"},
      {R"({"struct":[]})", "invalid struct: must be an object"},
      {R"({"listValue":{}})", "invalid list_value: must be an array"},
      {R"({"empty":[]})", "invalid empty: must be an object"},
      {R"({"int32Value":"x"})",
       "invalid int32_value: must be a whole number from -2147483648 to 2147483647"},
  };
  for (const char* text :
       {"2024-01-01", "2024-01-01T00:00:00", "2024-01-01t00:00:00Z", "2024-01-01T00:00:00z",
        "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z", "2024-01-01T00:00:60Z", "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00.1234567890Z", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+0100",
        "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00Z",
        "2024-01-01T00:00:00Zx", "-2024-01-01T00:00:00Z", ""}) {
    rows.push_back({R"({"timestamp":")" + std::string(text) + "\"}", time});
  }
  for (const char* text : {"1", "s", "1.s", "1.1234567890s", "+1s", "--1s", "1 s", "315576000001s",
                           "315576000000.1s", "1e3s", ""}) {
    rows.push_back({R"({"duration":")" + std::string(text) + "\"}", seconds});
  }
  check_refused(rows);
}

BOOST_AUTO_TEST_CASE(what_is_given_twice_is_refused) {
  check_refused({
      {R"({"aBool":true,"aBool":true})", "invalid a_bool: is given twice"},
      {R"({"anInt32":1,"an_int32":1})", "invalid an_int32: is given twice"},
      {R"({"anInt32":null,"anInt32":1})", "invalid an_int32: is given twice"},
      {R"({"aB\u006fol":true,"aBool":true})", "invalid a_bool: is given twice"},
      {R"({"stringValue":"a","string_value":"b"})", "invalid string_value: is given twice"},
      {R"({"firstChoice":"","secondChoice":{}})",
       "invalid second_choice: stands beside another member of choice"},
      {R"({"thirdChoice":null,"firstChoice":"a"})",
       "invalid first_choice: stands beside another member of choice"},
      {R"({"byString":{"a":"1","b":"2","a":"1"}})", "invalid by_string[\"a\"]: is given twice"},
      {R"({"struct":{"a":1,"a":1}})", "invalid struct[\"a\"]: is given twice"},
      {R"({"value":{"b":{"a":1,"a":1}}})", "invalid value[\"b\"][\"a\"]: is given twice"},
      {R"({"nope":1,"nope":2})", "invalid [\"nope\"]: is given twice"},
      {R"({"nope":{"x":[{"a":1,"a":2}]}})", "invalid nope.x[0][\"a\"]: is given twice"},
      {R"({"any":{"@type":"x/google.protobuf.Duration","value":"1s","value":"1s"}})",
       "invalid any[\"value\"]: is given twice"},
      {R"({"any":{"@type":"x/google.protobuf.Duration","value":"1s","x":[{"a":1,"a":1}]}})",
       "invalid any.x[0][\"a\"]: is given twice"},
  });
}

BOOST_AUTO_TEST_CASE(nesting_is_limited_to_100) {
  AllKinds message;
  BOOST_TEST(!read(R"({"nope":)" + arrays(99) + "}", &message).error);
  BOOST_TEST(!read(R"({"value":)" + arrays(99) + "}", &message).error);
  const std::string rule = "invalid JSON: the text nests more than 100 deep";
  BOOST_TEST(refusal(R"({"nope":)" + arrays(100) + "}") == rule);
  BOOST_TEST(refusal(R"({"value":)" + arrays(100) + "}") == rule);
  BOOST_TEST(refusal(arrays(100'000)) == rule);
  // A parser that met deep or broken text still reads the next.
  BOOST_TEST(kinds(R"({"anInt32":1})").an_int32() == 1);
}

BOOST_AUTO_TEST_CASE(unknown_fields_are_ignored_and_named) {
  AllKinds message;
  const JsonRead result = read(
      R"({"aBoool":1,"nested":{"x":{"y":1},"aBool":true},"messages":[{"z":[]}],"we ird\n":null,
          "messageByString":{"k":{"w":0}},"any":{"@type":"x/writ.test.AllKinds","v":0},
          "second_choice":{"any":{"@type":"x/google.protobuf.Duration","u":0,"value":"1s"}}})",
      &message);
  BOOST_REQUIRE(!result.error);
  const std::vector<std::string> expected{"aBoool",
                                          "nested.x",
                                          "messages[0].z",
                                          "[\"we ird\\n\"]",
                                          "message_by_string[\"k\"].w",
                                          "any.v",
                                          "second_choice.any.u"};
  BOOST_TEST(result.unknown_fields == expected, boost::test_tools::per_element());
  BOOST_TEST(message.nested().a_bool());
}

BOOST_AUTO_TEST_CASE(at_most_16_unknown_fields_are_named_each_cut_to_128_bytes) {
  std::string json = "{\"" + std::string(1000, 'x') + "\":0";
  for (int i = 0; i < 30; ++i) json += ",\"u" + std::to_string(i) + "\":0";
  AllKinds message;
  const JsonRead result = read(json + "}", &message);
  BOOST_TEST(result.unknown_fields.size() == 16U);
  BOOST_TEST(result.unknown_fields[0] == "[\"" + std::string(128, 'x') + "\"]");
}

BOOST_AUTO_TEST_CASE(stored_text_with_unknown_enum_names_reads_them_as_absent) {
  AllKinds message;
  const JsonRead result = read_json(R"({"aColor":"COLOR_NEW","colors":["COLOR_RED","COLOR_NEW"],
                    "byUint64":{"1":"COLOR_NEW","2":"COLOR_RED"},"anInt32":4})",
                                    &message, JsonMode::kStored);
  BOOST_REQUIRE(!result.error);
  BOOST_TEST((message.a_color() == test::COLOR_NONE));
  BOOST_TEST(message.colors_size() == 1);
  BOOST_TEST(message.by_uint64().size() == 1U);
  BOOST_TEST(message.by_uint64().contains(2));
  BOOST_TEST(message.an_int32() == 4);
  const std::vector<std::string> expected{"a_color", "colors[1]", "by_uint64[\"1\"]"};
  BOOST_TEST(result.unknown_fields == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(stored_text_is_otherwise_read_as_strictly) {
  AllKinds message;
  BOOST_TEST(read_json(R"({"anInt32":"x"})", &message, JsonMode::kStored).error.has_value());
  BOOST_TEST(
      read_json(R"({"aBool":true,"aBool":true})", &message, JsonMode::kStored).error.has_value());
}

BOOST_AUTO_TEST_CASE(a_misspelt_state_is_refused_in_a_request_with_its_path) {
  st::CreateSettingsRequest request;
  const JsonRead result =
      read(R"({"settings":{"taskResource":{"max":{"cpu":{"state":"VALUE","quantityValue":"4"}}}}})",
           &request);
  BOOST_REQUIRE(result.error);
  BOOST_TEST(result.error->path == "settings.task_resource.max.cpu.state");
  BOOST_TEST(
      result.error->message() ==
      "invalid settings.task_resource.max.cpu.state: unknown flyteidl2.settings.SettingState "
      "\"VALUE\" (did you mean \"SETTING_STATE_VALUE\"?)");
}

BOOST_AUTO_TEST_CASE(the_message_is_cleared_first) {
  AllKinds message;
  message.set_an_int32(5);
  message.add_int32s(1);
  BOOST_TEST(!read("{}", &message).error);
  BOOST_TEST(message.ByteSizeLong() == 0U);
}

BOOST_AUTO_TEST_CASE(texts_of_every_size_are_read_alike) {
  // Around the padding and the size that a thread keeps a parser for.
  for (const std::size_t size : {0U, 1U, 63U, 64U, 4096U, 65535U, 65536U, 65537U, 300'000U}) {
    const std::string text(size, 'x');
    BOOST_TEST((kinds("{\"aString\":\"" + text + "\"}").a_string() == text), size);
  }
}

BOOST_AUTO_TEST_CASE(messages_of_other_pools_are_read) {
  google::protobuf::FileDescriptorProto file;
  AllKinds::descriptor()->file()->CopyTo(&file);
  google::protobuf::DescriptorPool pool(google::protobuf::DescriptorPool::generated_pool());
  file.set_name("elsewhere.proto");
  file.set_package("elsewhere");
  std::string text = file.SerializeAsString();
  for (std::size_t at; (at = text.find(".writ.test.")) != std::string::npos;) {
    text.replace(at, 11, ".elsewhere.");
  }
  BOOST_REQUIRE(file.ParseFromString(text));
  const auto* built = pool.BuildFile(file);
  BOOST_REQUIRE(built);
  google::protobuf::DynamicMessageFactory factory(&pool);
  const std::unique_ptr<google::protobuf::Message> message(
      factory.GetPrototype(built->FindMessageTypeByName("AllKinds"))->New());
  const std::string json = R"({"anInt32":3,"byString":{"a":"b"}})";
  BOOST_TEST(!read(json, message.get()).error);
  BOOST_TEST(write_json(*message) == json);
}

BOOST_AUTO_TEST_CASE(threads_read_and_write_at_the_same_time) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::string json = R"({"anInt32":)" + std::to_string(i + 1) + "}";
      for (int j = 0; j < 500; ++j) {
        AllKinds message;
        if (!read_json(json, &message, JsonMode::kRequest).error && write_json(message) == json) {
          ++good;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(good == 2000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
