#include "events/envelope_reader.h"

#include <string>

#include "events/canonical_json.h"

namespace writ {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void check_hash(const CanonicalReader& reader, const std::string& hash) {
  constexpr std::size_t kDigits = 64;
  if (hash.size() != kDigits || hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    reader.fail("expected a hash before it");
}

std::map<std::string, std::string> detail(CanonicalReader& reader) {
  std::map<std::string, std::string> entries;
  reader.expect("{");
  if (reader.take('}')) return entries;
  do {
    std::string key = reader.string();
    if (!entries.empty() && entries.rbegin()->first >= key) reader.fail("unsorted detail");
    reader.expect(":");
    entries.emplace_hint(entries.end(), std::move(key), reader.string());
  } while (reader.take(','));
  reader.expect("}");
  return entries;
}

}  // namespace

std::optional<Timestamp> read_timestamp(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == 'd' ? !is_digit(text[i]) : text[i] != kForm[i]) return std::nullopt;
  const auto part = [&](std::size_t first, std::size_t count) {
    unsigned value = 0;
    for (const char c : text.substr(first, count))
      value = value * 10 + static_cast<unsigned>(c - '0');
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(part(0, 4))),
                                         std::chrono::month(part(5, 2)),
                                         std::chrono::day(part(8, 2))};
  if (!date.ok() || part(11, 2) > 23 || part(14, 2) > 59 || part(17, 2) > 59) return std::nullopt;
  return Timestamp(std::chrono::sys_days(date)) + std::chrono::hours(part(11, 2)) +
         std::chrono::minutes(part(14, 2)) + std::chrono::seconds(part(17, 2)) +
         std::chrono::microseconds(part(20, 6));
}

Envelope read_envelope(std::string_view text) {
  CanonicalReader reader(text);
  Envelope envelope;
  reader.expect(R"({"v":1,"log":)");
  envelope.log = reader.string();
  reader.expect(R"(,"position":)");
  envelope.position.value = reader.number();
  reader.expect(R"(,"stream":)");
  envelope.stream.value = reader.string();
  reader.expect(R"(,"version":)");
  envelope.version.value = reader.number();
  reader.expect(R"(,"type":)");
  envelope.type = reader.string();
  reader.expect(R"(,"time":)");
  const auto time = read_timestamp(reader.string());
  if (!time) reader.fail("expected a time before it");
  envelope.time = *time;
  reader.expect(R"(,"actor":)");
  envelope.actor = reader.string();
  reader.expect(R"(,"reason":)");
  envelope.reason = reader.string();
  reader.expect(R"(,"command":)");
  envelope.command = reader.string();
  reader.expect(R"(,"request":)");
  envelope.request = reader.string();
  reader.expect(R"(,"detail":)");
  envelope.detail = detail(reader);
  reader.expect(R"(,"payload_hash":)");
  envelope.payload_hash = reader.string();
  check_hash(reader, envelope.payload_hash);
  reader.expect(R"(,"prev":)");
  envelope.prev = reader.string();
  if (!envelope.prev.empty()) check_hash(reader, envelope.prev);
  reader.expect("}");
  reader.expect_end();
  return envelope;
}

}  // namespace writ
