#include "schema/protojson.h"

#include <array>
#include <memory>

#include "flyteidl2/settings/settings_service.pb.h"
#include "service/connect_call.h"
#include "service/json_text.h"
#include "tests/fuzz/json_oracle.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"
#include "writ/test/all_kinds.pb.h"

namespace writ::fuzz {
namespace {

namespace st = flyteidl2::settings;

constexpr std::size_t kMaxDepth = 100;

struct Choice {
  const google::protobuf::Message* message;
  JsonMode mode;
};

/// What the digit at the front of an input means.
Choice choose(char digit) {
  const std::array<Choice, 5> choices{{
      {&test::AllKinds::default_instance(), JsonMode::kRequest},
      {&test::AllKinds::default_instance(), JsonMode::kStored},
      {&st::CreateSettingsRequest::default_instance(), JsonMode::kRequest},
      {&st::UpdateSettingsRequest::default_instance(), JsonMode::kRequest},
      {&st::SettingsRecord::default_instance(), JsonMode::kStored},
  }};
  return choices[static_cast<unsigned char>(digit - '0') % choices.size()];
}

void check_refused(const JsonError& error, const JsonVerdict& verdict) {
  const std::string message = error.message();
  require(!error.rule.empty(), "a refusal names a rule");
  require(message.starts_with("invalid "), "a refusal says what is invalid");
  require(is_utf8(message), "a refusal is UTF-8");
  const bool is_json = verdict.well_formed && !verdict.lone_surrogate && !verdict.doubtful_number &&
                       verdict.depth <= kMaxDepth && verdict.root_is_object;
  require(!error.path.empty() || !is_json, "what is wrong in a JSON object has a path");
}

void check_accepted(const JsonVerdict& verdict) {
  require(verdict.well_formed, "what is read is JSON in UTF-8");
  require(!verdict.repeated_name, "what is read has no name twice");
  require(!verdict.lone_surrogate, "what is read has no lone surrogates");
  require(verdict.depth <= kMaxDepth, "what is read is not nested deeper than allowed");
}

void check_unknown(const JsonRead& read) {
  require(read.unknown_fields.size() <= 16, "unknown fields are few");
  for (const std::string& field : read.unknown_fields) {
    require(!field.empty() && is_utf8(field), "an unknown field is named in UTF-8");
  }
}

/// Written, read and written again, a message that was read is itself.
void check_round_trip(const google::protobuf::Message& message, JsonMode mode) {
  const std::string text = write_json(message);
  check_accepted(judge_json(text));
  const std::unique_ptr<google::protobuf::Message> again(message.New());
  const JsonRead read = read_json(text, again.get(), mode);
  require(!read.error, "what was written can be read");
  require(read.unknown_fields.empty(), "what was written has no unknown fields");
  require(write_json(*again) == text, "what was written is written the same");
  require(encode_message(Codec::kProto, *again) == encode_message(Codec::kProto, message),
          "what was written is read as the same message");
}

}  // namespace

void protojson(std::string_view input) {
  if (input.empty()) return;
  const Choice choice = choose(input.front());
  const std::string_view text = input.substr(1);
  const std::unique_ptr<google::protobuf::Message> message(choice.message->New());
  const JsonRead read = read_json(text, message.get(), choice.mode);
  const JsonVerdict verdict = judge_json(text);
  if (read.error) return check_refused(*read.error, verdict);
  check_accepted(verdict);
  check_unknown(read);
  check_round_trip(*message, choice.mode);
}

}  // namespace writ::fuzz
