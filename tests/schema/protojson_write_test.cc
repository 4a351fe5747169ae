#include <google/protobuf/util/message_differencer.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include "flyteidl2/settings/settings_service.pb.h"
#include "schema/protojson.h"
#include "tests/schema/json_outcome.h"
#include "writ/test/all_kinds.pb.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;
using test::AllKinds;

BOOST_AUTO_TEST_SUITE(writing_json)

// The stored and hashed form is frozen: these bytes may never change.
BOOST_AUTO_TEST_CASE(the_stable_form_of_settings_is_this) {
  st::SettingsRecord record;
  record.mutable_key()->set_org("acme");
  record.mutable_key()->set_domain("production");
  auto* settings = record.mutable_settings();
  auto* cpu = settings->mutable_task_resource()->mutable_min()->mutable_cpu();
  cpu->set_state(st::SETTING_STATE_VALUE);
  cpu->set_quantity_value("500m");
  cpu->set_scope_level(st::SCOPE_LEVEL_DOMAIN);
  auto* run = settings->mutable_run();
  run->mutable_max_action_concurrency()->set_state(st::SETTING_STATE_VALUE);
  run->mutable_max_action_concurrency()->set_int_value(30);
  run->mutable_default_queue()->set_state(st::SETTING_STATE_UNSET);
  auto* env = settings->mutable_environment_variables();
  env->set_state(st::SETTING_STATE_VALUE);
  for (const char* key : {"b", "a", "B", "a-1", "\u00e9", ""}) {
    (*env->mutable_map_value()->mutable_entries())[key] = "\"\\\n\x01/<\u00e9";
  }
  record.set_version(7);
  const std::string entry = R"("\"\\\n\u0001/<)"
                            "\u00e9\"";
  BOOST_TEST(write_json(record) ==
             R"({"key":{"org":"acme","domain":"production"},"settings":{"run":{"defaultQueue":)"
             R"({"state":"SETTING_STATE_UNSET"},"maxActionConcurrency":{"state":)"
             R"("SETTING_STATE_VALUE","intValue":"30"}},"taskResource":{"min":{"cpu":{"state":)"
             R"("SETTING_STATE_VALUE","quantityValue":"500m","scopeLevel":"SCOPE_LEVEL_DOMAIN"}}},)"
             R"("environmentVariables":{"state":"SETTING_STATE_VALUE","mapValue":{"entries":{"":)" +
                 entry + R"(,"B":)" + entry + R"(,"a":)" + entry + R"(,"a-1":)" + entry +
                 R"(,"b":)" + entry + ",\"\u00e9\":" + entry + R"(}}}},"version":"7"})");
}

BOOST_AUTO_TEST_CASE(of_a_string_only_quotes_backslashes_and_control_characters_are_escaped) {
  AllKinds message;
  std::string all;
  for (char c = 0; c >= 0; ++c) {
    all.push_back(c);
    if (c == 0x7f) break;
  }
  message.set_a_string(all + "\u00e9\u2028");
  BOOST_TEST(
      write_json(message) ==
      R"({"aString":"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000B\f\r\u000E)"
      R"(\u000F\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001A\u001B\u001C)"
      R"(\u001D\u001E\u001F !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ)"
      R"([\\]^_`abcdefghijklmnopqrstuvwxyz{|}~)"
      "\x7f\u00e9\u2028\"}");
}

BOOST_AUTO_TEST_CASE(a_string_of_any_length_is_escaped_wherever_that_is_due) {
  std::mt19937_64 random(7);
  const auto check = [&](std::size_t size, std::uint64_t one_in) {
    AllKinds message;
    std::string expected = R"({"aString":")";
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_quote = random() % one_in == 0;
      message.mutable_a_string()->push_back(is_quote ? '"' : '~');
      expected += is_quote ? "\\\"" : "~";
    }
    if (size > 0) BOOST_REQUIRE_EQUAL(write_json(message), expected + "\"}");
  };
  for (std::size_t size = 0; size < 50; ++size)
    for (int i = 0; i < 20; ++i) check(size, 1 + random() % 20);
  for (std::size_t size = 8150; size < 8210; ++size) check(size, 1000);
  check(100'000, 1);
  check(100'000, 3);
}

BOOST_AUTO_TEST_CASE(every_kind_of_field_has_one_form) {
  const std::string golden =
      R"({"aBool":true,"anInt32":-1,"aSint32":-2,"anSfixed32":-3,"aUint32":4,"aFixed32":5,)"
      R"("anInt64":"-6","aSint64":"-7","anSfixed64":"-8","aUint64":"18446744073709551615",)"
      R"("aFixed64":"10","aFloat":0.1,"aDouble":1e+100,"aString":"s","someBytes":"+/8=",)"
      R"("aColor":"COLOR_BLUE","nested":{"aColor":77},"anOptional":0,"secondChoice":{},)"
      R"("bools":[true,false],"int32s":[1,0],"uint32s":[1],"int64s":["1"],"uint64s":["1"],)"
      R"("floats":["NaN"],"doubles":["Infinity","-Infinity",-0.0,0.3,3,1e-07,9.007199254740992e+15,1.2e+20],"strings":["",""],)"
      R"("bytesList":[""],"colors":["COLOR_NONE",9],"messages":[{},{"aBool":true}],)"
      R"("byString":{"a":"","b":""},"byBool":{"false":1,"true":2},)"
      R"("byInt32":{"-1":true,"10":true,"9":false},"byInt64":{"0":1.5},"byUint32":{"1":""},)"
      R"("byUint64":{"1":"COLOR_RED"},"messageByString":{"m":{}},)"
      R"("any":{"@type":"type.googleapis.com/writ.test.AllKinds","aBool":true},"duration":"-1.500s",)"
      R"("empty":{},"fieldMask":"aB.c,d","struct":{"a":null,"b":[1,"x",true,{}]},"value":1.5,)"
      R"("listValue":[],"timestamp":"1969-12-31T23:59:59.000000001Z","doubleValue":0,)"
      R"("floatValue":1.5,"int64Value":"0","uint64Value":"0","int32Value":0,"uint32Value":0,)"
      R"("boolValue":false,"stringValue":"","bytesValue":"","values":[null,1]})";
  AllKinds message;
  const JsonRead read = read_json(golden, &message, JsonMode::kRequest);
  BOOST_REQUIRE_MESSAGE(!read.error, outcome(read));
  BOOST_TEST(read.unknown_fields.empty());
  BOOST_TEST(write_json(message) == golden);
  // The message, and not its history, gives the bytes.
  AllKinds copy;
  BOOST_REQUIRE(copy.ParseFromString(message.SerializeAsString()));
  BOOST_TEST(write_json(copy) == golden);
}

BOOST_AUTO_TEST_CASE(default_values_are_omitted) {
  AllKinds message;
  message.set_a_bool(false);
  message.set_a_string("");
  BOOST_TEST(write_json(message) == "{}");
  message.mutable_nested();
  message.set_an_optional(0);
  message.set_first_choice("");
  BOOST_TEST(write_json(message) == R"({"nested":{},"anOptional":0,"firstChoice":""})");
}

BOOST_AUTO_TEST_CASE(a_float_is_read_back_as_itself_although_json_numbers_are_doubles) {
  AllKinds message;
  message.set_a_float(7.038531e-26F);
  const std::string json = write_json(message);
  BOOST_TEST(json == R"({"aFloat":7.038530691851209e-26})");
  AllKinds again;
  BOOST_TEST(!read_json(json, &again, JsonMode::kRequest).error);
  BOOST_TEST((again.a_float() == message.a_float()));
}

BOOST_AUTO_TEST_CASE(times_have_as_many_digits_as_they_need) {
  google::protobuf::Timestamp time;
  const auto written = [&](std::int64_t seconds, std::int32_t nanos) {
    time.set_seconds(seconds);
    time.set_nanos(nanos);
    return write_json(time);
  };
  BOOST_TEST(written(0, 0) == R"("1970-01-01T00:00:00Z")");
  BOOST_TEST(written(0, 120'000'000) == R"("1970-01-01T00:00:00.120Z")");
  BOOST_TEST(written(0, 1'000) == R"("1970-01-01T00:00:00.000001Z")");
  BOOST_TEST(written(253'402'300'799, 999'999'999) == R"("9999-12-31T23:59:59.999999999Z")");
  BOOST_TEST(written(-62'135'596'800, 0) == R"("0001-01-01T00:00:00Z")");
  google::protobuf::Duration duration;
  duration.set_nanos(-1);
  BOOST_TEST(write_json(duration) == R"("-0.000000001s")");
}

BOOST_AUTO_TEST_CASE(a_message_without_json_form_throws) {
  google::protobuf::Timestamp time;
  time.set_seconds(253'402'300'800);
  BOOST_CHECK_THROW(write_json(time), std::invalid_argument);
  google::protobuf::Duration duration;
  duration.set_seconds(1);
  duration.set_nanos(-1);
  BOOST_CHECK_THROW(write_json(duration), std::invalid_argument);
  google::protobuf::Value value;
  value.set_number_value(std::numeric_limits<double>::quiet_NaN());
  BOOST_CHECK_THROW(write_json(value), std::invalid_argument);
  google::protobuf::Any any;
  any.set_type_url("x/no.Such");
  BOOST_CHECK_THROW(write_json(any), std::invalid_argument);
  any.set_type_url("x/writ.test.AllKinds");
  any.set_value("\xff");
  BOOST_CHECK_THROW(write_json(any), std::invalid_argument);
  google::protobuf::FieldMask mask;
  mask.add_paths("aB");
  BOOST_CHECK_THROW(write_json(mask), std::invalid_argument);
}

/// A message of random fields, also nested.
AllKinds random_message(std::mt19937_64& random, int depth) {
  AllKinds message;
  const auto maybe = [&] { return random() % 3 == 0; };
  if (maybe()) message.set_an_int64(static_cast<std::int64_t>(random()));
  if (maybe()) message.set_a_uint64(random());
  if (maybe()) message.set_a_double(std::bit_cast<double>(random()));
  if (maybe()) message.set_a_float(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  if (maybe()) message.set_a_string(std::string(random() % 40, static_cast<char>(random() % 128)));
  if (maybe()) message.set_some_bytes(std::string(random() % 9, static_cast<char>(random())));
  if (maybe()) message.set_a_color(static_cast<test::Color>(static_cast<int>(random() % 5) - 2));
  if (maybe()) message.set_an_optional(static_cast<std::int32_t>(random() % 2));
  if (maybe()) message.mutable_timestamp()->set_seconds(static_cast<int>(random() >> 34));
  if (maybe()) message.mutable_duration()->set_nanos(static_cast<int>(random() % 1'000'000'000));
  for (std::uint64_t i = random() % 4; i-- > 0;) {
    (*message.mutable_by_string())[std::to_string(random() % 100)] = "v";
    (*message.mutable_by_int64())[static_cast<std::int64_t>(random())] = 0.5;
    message.add_doubles(std::bit_cast<double>(random()));
  }
  if (depth > 0) {
    if (maybe()) *message.mutable_nested() = random_message(random, depth - 1);
    if (maybe()) *message.add_messages() = random_message(random, depth - 1);
    if (maybe()) message.mutable_any()->PackFrom(random_message(random, depth - 1));
  }
  return message;
}

BOOST_AUTO_TEST_CASE(what_is_written_reads_back_as_the_same_message) {
  const char* given = std::getenv("WRIT_SEED");
  const std::uint64_t seed = given ? std::stoull(given) : std::random_device()();
  BOOST_TEST_MESSAGE("seed (WRIT_SEED): " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const AllKinds message = random_message(random, 3);
    const std::string json = write_json(message);
    AllKinds back;
    const JsonRead read = read_json(json, &back, JsonMode::kRequest);
    BOOST_REQUIRE_MESSAGE(!read.error, outcome(read) << " seed " << seed << ": " << json);
    // Not by fields: NaN is not equal to itself.
    BOOST_REQUIRE_MESSAGE(write_json(back) == json, "seed " << seed << ": " << json);
  }
}

/// Changes, drops or doubles a few bytes.
std::string damaged(std::string text, std::mt19937_64& random) {
  static const std::string_view bytes = "{}[]\",:\\-+.eE0129ntfu \n\x80\xff";
  for (std::uint64_t i = random() % 4 + 1; i-- > 0 && !text.empty();) {
    const std::size_t at = random() % text.size();
    const std::size_t count = random() % 8 + 1;
    switch (random() % 4) {
      case 0:
        text.erase(at, count);
        break;
      case 1:
        text.insert(at, text.substr(random() % text.size(), count));
        break;
      case 2:
        text[at] = static_cast<char>(random());
        break;
      default:
        text[at] = bytes[random() % bytes.size()];
    }
  }
  return text;
}

BOOST_AUTO_TEST_CASE(damaged_text_is_refused_or_read_to_what_can_be_written_and_read_again) {
  const char* given = std::getenv("WRIT_SEED");
  const std::uint64_t seed = given ? std::stoull(given) : std::random_device()();
  BOOST_TEST_MESSAGE("seed (WRIT_SEED): " << seed);
  std::mt19937_64 random(seed);
  int refused = 0, accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = damaged(write_json(random_message(random, 2)), random);
    AllKinds message, back;
    const JsonRead read = read_json(text, &message, JsonMode::kRequest);
    ++(read.error ? refused : accepted);
    if (read.error) continue;
    const std::string json = write_json(message);
    const JsonRead again = read_json(json, &back, JsonMode::kRequest);
    BOOST_REQUIRE_MESSAGE(!again.error && again.unknown_fields.empty() && write_json(back) == json,
                          "seed " << seed << ": " << text << " -> " << json);
  }
  // Both outcomes are common, or the damage says nothing.
  BOOST_TEST(refused > 1000);
  BOOST_TEST(accepted > 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
