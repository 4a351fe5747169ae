#include "tests/fuzz/json_oracle.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "service/json_text.h"

namespace writ::fuzz {
namespace {

using Size = rapidjson::SizeType;

// The names of the functions are rapidjson's.
// NOLINTBEGIN(readability-identifier-naming)
class Judge : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Judge> {
 public:
  explicit Judge(JsonVerdict* verdict) : verdict_(verdict) {}

  bool RawNumber(const char* text, Size size, bool) {
    constexpr std::size_t kSafeDigits = 18;
    const std::string_view number(text, size);
    if (size > kSafeDigits || number.find_first_of("eE") != std::string_view::npos) {
      verdict_->doubtful_number = true;
    }
    return true;
  }
  bool String(const char* text, Size size, bool) {
    // rapidjson lets the second half of a pair stand alone.
    if (!is_utf8({text, size})) verdict_->lone_surrogate = true;
    return true;
  }
  bool Key(const char* text, Size size, bool copy) {
    if (!names_.back().insert(std::string(text, size)).second) verdict_->repeated_name = true;
    return String(text, size, copy);
  }
  bool StartObject() {
    if (names_.empty()) verdict_->root_is_object = true;
    return StartArray();
  }
  bool EndObject(Size count) { return EndArray(count); }
  bool StartArray() {
    names_.emplace_back();
    verdict_->depth = std::max(verdict_->depth, names_.size());
    return true;
  }
  bool EndArray(Size) {
    names_.pop_back();
    return true;
  }

 private:
  JsonVerdict* verdict_;
  std::vector<std::set<std::string>> names_;  // of every array and object that is open
};
// NOLINTEND(readability-identifier-naming)

}  // namespace

JsonVerdict judge_json(std::string_view text) {
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                              rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag;
  JsonVerdict verdict;
  Judge judge(&verdict);
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, judge);
  // An exponent such as that of 0e999 is JSON, but ends rapidjson's reading: the rest is not
  // judged.
  const bool gave_up = result.Code() == rapidjson::kParseErrorNumberTooBig;
  if (gave_up) verdict.doubtful_number = true;
  // A NUL is the end to rapidjson.
  verdict.well_formed = (gave_up || !result.IsError()) && text.find('\0') == std::string_view::npos;
  return verdict;
}

}  // namespace writ::fuzz
