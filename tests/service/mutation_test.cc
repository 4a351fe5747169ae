#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "service/envelope.h"
#include "service/grpc_web.h"
#include "service/gzip.h"
#include "service/http_body.h"
#include "service/http_head.h"

namespace writ {
namespace {

using namespace std::string_view_literals;

// Bytes that hurt, more likely than others.
constexpr std::string_view kSharp = "\r\n\0 :,;%\t/?#\x7f\xff=0+-"sv;

// Good inputs, damaged at random. WRIT_TEST_SEED repeats a run, WRIT_TEST_ROUNDS makes it longer.
class Mutations {
 public:
  Mutations() : seed_(number_from("WRIT_TEST_SEED", std::random_device()())), random_(seed_) {}

  unsigned seed() const { return seed_; }
  static unsigned rounds() { return number_from("WRIT_TEST_ROUNDS", 20'000); }

  std::size_t below(std::size_t limit) { return random_() % limit; }

  std::string damage(std::string text) {
    for (std::size_t count = below(5); count > 0; --count) {
      const std::size_t at = below(text.size() + 1);
      switch (below(4)) {
        case 0:
          text.insert(at, 1, kSharp[below(kSharp.size())]);
          break;
        case 1:
          text.erase(at, 1 + below(8));
          break;
        case 2:
          text.insert(at, text.substr(below(text.size() + 1), below(40)));
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random_());
      }
    }
    return text;
  }

 private:
  static unsigned number_from(const char* name, unsigned otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  }

  unsigned seed_;
  std::mt19937 random_;
};

const std::vector<std::string> kHeads = {
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST /a.B/C?x=%20&y HTTP/1.1\r\nHost: [::1]:80\r\nContent-Type: application/json\r\n"
    "Content-Length: 12\r\nConnection: keep-alive\r\n\r\n",
    "POST http://a/b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: "
    "100-continue\r\n\r\n",
    "OPTIONS * HTTP/1.0\r\nX: \xc3\xa4\r\n\r\n",
};

// The head's size when it is whole and good, 0 when it is refused or unfinished.
std::size_t scan_in_steps(const std::string& bytes, std::size_t step, int* status) {
  const HttpLimits limits;
  HeadScanner scanner(limits);
  for (std::size_t size = std::min(step, bytes.size());;
       size = std::min(size + step, bytes.size())) {
    const auto result = scanner.scan(std::string_view(bytes).substr(0, size));
    *status = result.refusal ? result.refusal->status : 0;
    if (result.refusal || result.size > 0 || size == bytes.size()) return result.size;
  }
}

bool has_no_controls(std::string_view text) {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) return false;
  }
  return true;
}

// What every accepted head promises.
void check_accepted(const RequestHead& head) {
  BOOST_TEST(!head.method.empty());
  BOOST_TEST((head.path == "*" || head.path.starts_with("/")));
  BOOST_TEST(!(head.chunked && head.content_length.has_value()));
  BOOST_TEST(head.fields.size() <= HttpLimits().fields);
  int hosts = 0;
  for (const HeaderField& field : head.fields) {
    BOOST_TEST(has_no_controls(field.name));
    BOOST_TEST(has_no_controls(field.value));
    BOOST_TEST(field.name.find_first_of(" \t:") == std::string_view::npos);
    hosts += equals_ignore_case(field.name, "host") ? 1 : 0;
  }
  BOOST_TEST((hosts == 1 || (hosts == 0 && head.http_1_0)));
}

BOOST_AUTO_TEST_SUITE(mutations)

BOOST_AUTO_TEST_CASE(a_damaged_head_is_refused_or_keeps_the_rules) {
  Mutations random;
  BOOST_TEST_MESSAGE("WRIT_TEST_SEED=" << random.seed());
  unsigned accepted = 0;
  for (unsigned round = 0; round < Mutations::rounds(); ++round) {
    const std::string bytes = random.damage(kHeads[random.below(kHeads.size())]);
    int whole_status = 0;
    int cut_status = 0;
    const std::size_t size = scan_in_steps(bytes, bytes.size() + 1, &whole_status);
    BOOST_TEST(scan_in_steps(bytes, 1 + random.below(7), &cut_status) == size);
    BOOST_TEST(cut_status == whole_status);
    if (size == 0) continue;
    RequestHead head;
    if (parse_request_head(std::string_view(bytes).substr(0, size), HttpLimits(), &head)) continue;
    ++accepted;
    check_accepted(head);
    decode_path(head.path);
    decode_query_part(head.query);
  }
  BOOST_TEST(accepted > 0U);
  BOOST_TEST(accepted < Mutations::rounds());
}

BOOST_AUTO_TEST_CASE(a_damaged_body_is_decoded_the_same_however_it_is_cut) {
  Mutations random;
  BOOST_TEST_MESSAGE("WRIT_TEST_SEED=" << random.seed());
  const std::string good =
      "5;x=y\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nA: b\r\n\r\nGET";
  const auto decode = [](const std::string& bytes, std::size_t step, std::string* body) {
    ChunkedDecoder decoder(64);
    auto status = ChunkedDecoder::Status::kMore;
    std::size_t at = 0;
    while (status == ChunkedDecoder::Status::kMore && at < bytes.size()) {
      std::size_t consumed = 0;
      status = decoder.feed(std::string_view(bytes).substr(at, step), &consumed, body);
      at += consumed;
    }
    return std::pair(status, at);
  };
  for (unsigned round = 0; round < Mutations::rounds(); ++round) {
    const std::string bytes = random.damage(good);
    std::string whole;
    std::string cut;
    const auto result = decode(bytes, bytes.size() + 1, &whole);
    BOOST_TEST((decode(bytes, 1 + random.below(5), &cut) == result));
    BOOST_TEST(whole == cut);
    BOOST_TEST(whole.size() <= 64U);
  }
}

BOOST_AUTO_TEST_CASE(damaged_gzip_and_envelopes_are_survived) {
  Mutations random;
  BOOST_TEST_MESSAGE("WRIT_TEST_SEED=" << random.seed());
  const std::string text = "a text that has some length, some length, some length";
  const std::string packed = gzip(text);
  for (unsigned round = 0; round < Mutations::rounds() / 4; ++round) {
    const auto result = gunzip(random.damage(packed), 100);
    if (const auto* const out = std::get_if<std::string>(&result)) BOOST_TEST(out->size() <= 100U);
    std::string framed;
    append_envelope(0, text, &framed);
    const std::string damaged = random.damage(framed);
    std::string_view rest = damaged;
    while (const auto envelope = take_envelope(&rest))
      BOOST_TEST(envelope->data.size() < damaged.size());
    decode_grpc_web_text(random.damage("YWJjZA==YWI="));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
