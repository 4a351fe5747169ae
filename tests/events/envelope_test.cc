#include "events/envelope.h"

#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "schema/protojson.h"

namespace writ {
namespace {

constexpr char kFolder[] = WRIT_SOURCE_DIR "/tests/events/";

/// The fields of a golden file, one `name: text` a line.
std::map<std::string, std::string> golden(const std::string& type) {
  std::ifstream file(kFolder + ("golden/" + type + ".txt"));
  std::map<std::string, std::string> fields;
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    BOOST_REQUIRE_MESSAGE(colon != std::string::npos, "not a field: " << line);
    fields[line.substr(0, colon)] = line.substr(colon + 2);
  }
  BOOST_REQUIRE_MESSAGE(!fields.empty(), "no golden file of " << type);
  return fields;
}

std::string text(simdjson::dom::element element) { return std::string(std::string_view(element)); }

Timestamp parse_time(const std::string& time) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, micro = 0;
  BOOST_REQUIRE_EQUAL(std::sscanf(time.c_str(), "%d-%d-%dT%d:%d:%d.%dZ", &year, &month, &day, &hour,
                                  &minute, &second, &micro),
                      7);
  const std::chrono::sys_days date = std::chrono::year(year) / month / day;
  return date + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + std::chrono::microseconds(micro);
}

Timestamp at(std::int64_t microseconds) {
  return Timestamp(std::chrono::microseconds(microseconds));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(envelope_tests)

BOOST_AUTO_TEST_CASE(vectors_give_the_recorded_bytes_and_hashes) {
  simdjson::dom::parser parser;
  const simdjson::dom::element vectors =
      parser.load(std::string(kFolder) + "envelope_vectors.json");
  std::map<std::string, std::string> last_leaf;
  int seen = 0;
  for (const simdjson::dom::element vector : vectors["events"].get_array()) {
    const simdjson::dom::element event = vector["event"];
    Envelope envelope;
    envelope.log = text(event["log"]);
    envelope.position = {std::int64_t(event["position"])};
    envelope.stream = {text(event["stream"])};
    envelope.version = {std::int64_t(event["version"])};
    envelope.type = text(event["type"]);
    envelope.time = parse_time(text(event["time"]));
    envelope.actor = text(event["actor"]);
    envelope.reason = text(event["reason"]);
    envelope.command = text(event["command"]);
    envelope.request = text(event["request"]);
    for (const auto& [key, value] : event["detail"].get_object())
      envelope.detail[std::string(key)] = text(value);
    envelope.payload_hash =
        hex(payload_hash(from_hex(text(vector["salt_hex"])), text(vector["payload"])));
    envelope.prev = last_leaf[envelope.stream.value];
    BOOST_TEST_CONTEXT("position " << envelope.position.value) {
      BOOST_CHECK_EQUAL(envelope.payload_hash, text(vector["payload_hash"]));
      BOOST_CHECK_EQUAL(canonical_envelope(envelope), text(vector["envelope"]));
      BOOST_CHECK_EQUAL(hex(leaf_hash(text(vector["envelope"]))), text(vector["leaf_hash"]));
    }
    last_leaf[envelope.stream.value] = text(vector["leaf_hash"]);
    ++seen;
  }
  BOOST_CHECK_EQUAL(seen, 4);
}

BOOST_AUTO_TEST_CASE(every_released_event_type_keeps_its_bytes) {
  for (const std::string type :
       {"settings.created", "settings.updated", "log.accepted", "log.erased"}) {
    BOOST_TEST_CONTEXT(type) {
      auto fields = golden(type);
      if (type.starts_with("settings.")) {
        flyteidl2::settings::Settings settings;
        const JsonRead read = read_json(fields["payload"], &settings, JsonMode::kStored);
        BOOST_REQUIRE_MESSAGE(!read.error, read.error->message());
        BOOST_CHECK(read.unknown_fields.empty());
        BOOST_CHECK_EQUAL(write_json(settings), fields["payload"]);
      }

      Envelope envelope;
      envelope.log = fields["log"];
      envelope.position = {std::stoll(fields["position"])};
      envelope.stream = {fields["stream"]};
      envelope.version = {std::stoll(fields["version"])};
      envelope.type = fields["type"];
      envelope.time = at(std::stoll(fields["microseconds"]));
      envelope.actor = fields["actor"];
      envelope.reason = fields["reason"];
      envelope.command = fields["command"];
      envelope.request = fields["request"];
      for (const auto& [name, value] : fields)
        if (name.starts_with("detail ")) envelope.detail[name.substr(7)] = value;
      envelope.payload_hash = hex(payload_hash(from_hex(fields["salt"]), fields["payload"]));
      envelope.prev = fields["prev"];
      BOOST_CHECK_EQUAL(canonical_envelope(envelope), fields["envelope"]);
      BOOST_CHECK_EQUAL(hex(leaf_hash(fields["envelope"])), fields["leaf_hash"]);
    }
  }
}

BOOST_AUTO_TEST_CASE(only_quotes_backslashes_and_controls_are_escaped) {
  Envelope envelope;
  envelope.log = "l";
  envelope.stream = {std::string("\0\x1f \x7f", 4)};
  envelope.type = "a/b";
  envelope.actor = "\"\\";
  envelope.reason = "\b\f\n\r\t";
  envelope.command = "é🚀\u2028";
  envelope.detail = {{"b", "2"}, {"B", "\""}, {"a\n", "1"}};
  envelope.payload_hash = "h";
  BOOST_CHECK_EQUAL(
      canonical_envelope(envelope),
      "{\"v\":1,\"log\":\"l\",\"position\":0,\"stream\":\"\\u0000\\u001f \x7f\",\"version\":0,"
      "\"type\":\"a/b\",\"time\":\"1970-01-01T00:00:00.000000Z\",\"actor\":\"\\\"\\\\\","
      "\"reason\":\"\\u0008\\u000c\\u000a\\u000d\\u0009\",\"command\":\"é🚀\u2028\",\"request\":"
      "\"\","
      "\"detail\":{\"B\":\"\\\"\",\"a\\u000a\":\"1\",\"b\":\"2\"},\"payload_hash\":\"h\",\"prev\":"
      "\"\"}");
}

BOOST_AUTO_TEST_CASE(times_have_always_six_digits) {
  struct Row {
    std::int64_t microseconds;
    const char* text;
  };
  for (const Row& row : {
           Row{0, "1970-01-01T00:00:00.000000Z"},
           Row{-1, "1969-12-31T23:59:59.999999Z"},
           Row{1, "1970-01-01T00:00:00.000001Z"},
           Row{951'827'696'123'456, "2000-02-29T12:34:56.123456Z"},
           Row{253'402'300'799'999'999, "9999-12-31T23:59:59.999999Z"},
           Row{-62'135'596'800'000'000, "0001-01-01T00:00:00.000000Z"},
       })
    BOOST_CHECK_EQUAL(format_timestamp(at(row.microseconds)), row.text);
}

BOOST_AUTO_TEST_CASE(hexadecimal_and_digests_are_as_published) {
  // FIPS 180-4's "abc", whole and in two parts.
  const char* const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  BOOST_CHECK_EQUAL(hex(sha256("abc")), abc);
  BOOST_CHECK_EQUAL(hex(sha256("a", "bc")), abc);
  BOOST_CHECK_EQUAL(hex(sha256("", "abc")), abc);
  BOOST_CHECK_EQUAL(hex(sha256("")),
                    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string large(200'000, 'x');
  BOOST_CHECK_EQUAL(hex(sha256(large)), hex(sha256(large.substr(0, 7), large.substr(7))));
  BOOST_CHECK_EQUAL(hex(std::string("\0\x7f\xff", 3)), "007fff");
  BOOST_CHECK_EQUAL(from_hex("007fFF"), std::string("\0\x7f\xff", 3));
  for (const char* bad : {"0", "0g", "zz", " 0"})
    BOOST_CHECK_THROW(from_hex(bad), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(random_uuids_are_of_version_4_and_differ) {
  const std::string one = random_uuid();
  BOOST_REQUIRE_EQUAL(one.size(), 36u);
  for (const std::size_t hyphen : {8, 13, 18, 23}) BOOST_CHECK_EQUAL(one[hyphen], '-');
  BOOST_CHECK_EQUAL(one[14], '4');
  BOOST_CHECK(std::string("89ab").find(one[19]) != std::string::npos);
  BOOST_CHECK_NE(one, random_uuid());
  BOOST_CHECK_NE(random_bytes(32), random_bytes(32));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
