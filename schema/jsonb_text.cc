#include "schema/jsonb_text.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace writ {
namespace {

constexpr long kLargestExponent = 100'000;
constexpr char kHexDigits[] = "0123456789abcdef";

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr std::string_view kShort = "\b\f\n\r\t\"\\";
    if (const std::size_t found = kShort.find(c); found != std::string_view::npos) {
      out += '\\';
      out += "bfnrt\"\\"[found];
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHexDigits[byte >> 4];
      out += kHexDigits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

/// A number without its exponent, as many digits after the point as it came with. "" when those are
/// too many.
std::string plain_number(std::string_view text) {
  const bool negative = text.front() == '-';
  if (negative) text.remove_prefix(1);
  long exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view power = text.substr(e + 1);
    if (power.front() == '+') power.remove_prefix(1);
    const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), exponent);
    if (error != std::errc()) return "";
    text = text.substr(0, e);
  }
  if (exponent > kLargestExponent || exponent < -kLargestExponent) return "";
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  if (point < text.size()) digits += text.substr(point + 1);
  long whole = static_cast<long>(point) + exponent;  // digits before the point
  if (whole < 0) {
    digits.insert(0, static_cast<std::size_t>(-whole), '0');
    whole = 0;
  }
  if (whole > static_cast<long>(digits.size())) digits.resize(static_cast<std::size_t>(whole), '0');
  std::string integer = digits.substr(0, static_cast<std::size_t>(whole));
  const std::string fraction = digits.substr(static_cast<std::size_t>(whole));
  integer.erase(0, std::min(integer.find_first_not_of('0'), integer.size()));
  if (integer.empty()) integer += '0';
  const bool zero = digits.find_first_not_of('0') == std::string::npos;
  std::string out;
  if (negative && !zero) out += '-';
  out += integer;
  if (!fraction.empty()) out += '.';
  return out += fraction;
}

/// Builds each value's text once its parts have theirs.
class Writer {
 public:
  std::string take() { return std::move(values_.front()); }

  // RapidJSON's names. NOLINTBEGIN(readability-identifier-naming)
  bool Null() { return add("null"); }
  bool Bool(bool value) { return add(value ? "true" : "false"); }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    std::string number = plain_number({text, length});
    return !number.empty() && add(std::move(number));
  }
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    std::string out;
    append_string(out, {text, length});
    return add(std::move(out));
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    names_.emplace_back(text, length);
    return true;
  }
  bool StartObject() { return true; }
  bool StartArray() { return true; }
  bool EndObject(rapidjson::SizeType count) {
    std::vector<std::pair<std::string, std::string>> members;
    for (std::size_t i = 0; i < count; ++i)
      members.emplace_back(std::move(names_[names_.size() - count + i]),
                           std::move(values_[values_.size() - count + i]));
    names_.resize(names_.size() - count);
    values_.resize(values_.size() - count);
    std::ranges::stable_sort(members, [](const auto& a, const auto& b) {
      return std::pair(a.first.size(), std::string_view(a.first)) <
             std::pair(b.first.size(), std::string_view(b.first));
    });
    std::string out;
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i + 1 < members.size() && members[i + 1].first == members[i].first) continue;
      if (out.size() > 1) out += ", ";
      append_string(out, members[i].first);
      out += ": ";
      out += members[i].second;
    }
    out += '}';
    return add(std::move(out));
  }
  bool EndArray(rapidjson::SizeType count) {
    std::string out;
    out += '[';
    for (std::size_t i = values_.size() - count; i < values_.size(); ++i) {
      if (out.size() > 1) out += ", ";
      out += values_[i];
    }
    values_.resize(values_.size() - count);
    out += ']';
    return add(std::move(out));
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool add(std::string value) {
    values_.push_back(std::move(value));
    return true;
  }

  std::vector<std::string> names_, values_;  // of what is open
};

}  // namespace

std::optional<std::string> jsonb_text(std::string_view json) {
  rapidjson::MemoryStream bytes(json.data(), json.size());
  rapidjson::Reader reader;
  Writer writer;
  constexpr unsigned kFlags = rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;
  if (!reader.Parse<kFlags>(bytes, writer)) return std::nullopt;
  return writer.take();
}

}  // namespace writ
