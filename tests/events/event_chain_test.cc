#include "events/event_chain.h"

#include <boost/test/unit_test.hpp>

#include "events/envelope_reader.h"
#include "events/errors.h"

namespace writ {
namespace {

Envelope envelope_at(std::int64_t position, std::int64_t microseconds) {
  Envelope envelope;
  envelope.log = "00112233445566778899aabbccddeeff";
  envelope.position = {position};
  envelope.stream = {"other/" + std::to_string(position)};
  envelope.version = {1};
  envelope.type = "other.made \"x\"\n";
  envelope.time = Timestamp(std::chrono::microseconds(microseconds));
  envelope.actor = "é🚀\x7f";
  envelope.detail = {{"a", "1"}, {"b\\", ""}};
  envelope.payload_hash = hex(payload_hash("salt", "{}"));
  return envelope;
}

ChainedEvent event_of(const std::string& envelope) { return {envelope, "{}", "salt"}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(event_chain_tests)

BOOST_AUTO_TEST_CASE(times_may_stand_still_and_never_go_back) {
  EventChain chain("");
  for (const std::int64_t position : {1, 2})
    chain.add(event_of(canonical_envelope(envelope_at(position, 1'000'000))));
  BOOST_CHECK_EXCEPTION(chain.add(event_of(canonical_envelope(envelope_at(3, 999'999)))),
                        CorruptLog, [](const CorruptLog& e) {
                          return std::string(e.what()) ==
                                 "position 3: it was recorded before the event before it";
                        });
}

BOOST_AUTO_TEST_CASE(only_the_canonical_bytes_of_an_envelope_are_read) {
  const std::string text = canonical_envelope(envelope_at(7, 1'796'029'702'000'001));
  BOOST_CHECK_EQUAL(canonical_envelope(read_envelope(text)), text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    BOOST_CHECK_THROW(read_envelope(text.substr(0, i)), std::invalid_argument);
    std::string wider = text;
    wider.insert(i, 1, ' ');
    // Inside of a text a space is as good as any other character.
    try {
      BOOST_CHECK_EQUAL(canonical_envelope(read_envelope(wider)), wider);
    } catch (const std::invalid_argument&) {
    }
  }
  for (const auto& [what, by] : {std::pair{R"("position":7)", R"("position":07)"},
                                 {R"(\u000a)", R"(\n)"},
                                 {R"(\u000a)", R"(\u000A)"},
                                 {R"("a":"1","b\\":"")", R"("b\\":"","a":"1")"},
                                 {R"("a":"1")", R"("a":"1","a":"1")"},
                                 {R"(T09:08:22)", R"(T24:08:22)"},
                                 {R"("prev":"")", R"("prev":"00")"}}) {
    std::string other = text;
    const std::size_t place = other.find(what);
    BOOST_REQUIRE_MESSAGE(place != std::string::npos, what << " in " << text);
    other.replace(place, std::string(what).size(), by);
    BOOST_CHECK_THROW(read_envelope(other), std::invalid_argument);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
