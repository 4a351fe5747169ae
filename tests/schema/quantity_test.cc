#include "schema/quantity.h"

#include <google/protobuf/wrappers.pb.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <fstream>
#include <random>
#include <sstream>

#include "schema/protojson.h"

namespace writ {
namespace {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;

std::string verdict_of(const std::variant<Quantity, QuantityError>& parsed) {
  if (std::holds_alternative<Quantity>(parsed)) return "accept";
  switch (std::get<QuantityError>(parsed)) {
    case QuantityError::kFormat:
      return "format";
    case QuantityError::kNumeric:
      return "numeric";
    default:
      return "suffix";
  }
}

std::string format_name(Quantity::Format format) {
  switch (format) {
    case Quantity::Format::kDecimalSi:
      return "DecimalSI";
    case Quantity::Format::kDecimalExponent:
      return "DecimalExponent";
    default:
      return "BinarySI";
  }
}

Quantity must_parse(std::string_view text) {
  const auto parsed = Quantity::parse(text);
  BOOST_REQUIRE_MESSAGE(std::holds_alternative<Quantity>(parsed), "no quantity: " << text);
  return std::get<Quantity>(parsed);
}

std::vector<std::string> split_tabs(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == '\t') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

cpp_int power(unsigned base, unsigned exponent) {
  return boost::multiprecision::pow(cpp_int(base), exponent);
}

/// The exact value of a number text and a suffix, by other means than the code under test.
cpp_rational exact_value(const std::string& number, const std::string& suffix) {
  const std::size_t dot = std::min(number.find('.'), number.size());
  const std::string fraction = dot < number.size() ? number.substr(dot + 1) : "";
  std::string digits = number.substr(0, dot) + fraction;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  const cpp_rational mantissa(cpp_int(digits), power(10, static_cast<unsigned>(fraction.size())));
  const std::string decimal = "num kMGTPE";
  if (suffix.ends_with("i")) {
    const auto step = std::string("KMGTPE").find(suffix[0]) + 1;
    return mantissa * cpp_rational(power(2, static_cast<unsigned>(10 * step)));
  }
  int exponent = 0;
  if (suffix.size() > 1) {
    exponent = std::stoi(suffix.substr(1));
  } else if (!suffix.empty()) {
    exponent = static_cast<int>(decimal.find(suffix[0])) * 3 - 9;
  }
  const cpp_rational scale(power(10, static_cast<unsigned>(std::abs(exponent))));
  return exponent < 0 ? cpp_rational(mantissa / scale) : cpp_rational(mantissa * scale);
}

/// The value in nano-units as the rules of rounding and capping leave it.
cpp_int expected_nanos(const std::string& number, const std::string& suffix) {
  const cpp_rational nanos = exact_value(number, suffix) * 1'000'000'000;
  const cpp_int above = (numerator(nanos) + denominator(nanos) - 1) / denominator(nanos);
  const cpp_int cap = (power(2, 63) - 1) * 1'000'000'000;
  return suffix.ends_with("i") && above > cap ? cap : above;
}

/// Splits a canonical form behind its digits.
std::pair<std::string, std::string> split_suffix(const std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  return {text.substr(0, end), text.substr(end)};
}

std::string random_number(std::mt19937_64& random) {
  const auto digits = [&](std::size_t most) {
    std::string text(random() % (most + 1), '0');
    for (char& c : text) c = random() % 3 == 0 ? '0' : static_cast<char>('0' + random() % 10);
    return text;
  };
  std::string number = digits(25);
  if (random() % 2 == 0) number += "." + digits(25);
  return number.find_first_of("0123456789") == std::string::npos ? "1" : number;
}

std::string random_suffix(std::mt19937_64& random) {
  static const std::string known[] = {"",  "n", "u",  "m",  "k",  "M",  "G",  "T",
                                      "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  const std::size_t pick = random() % 20;
  if (pick < 16) return known[pick];
  return (pick % 2 == 0 ? "e" : "E") + std::to_string(static_cast<int>(random() % 61) - 30);
}

BOOST_AUTO_TEST_SUITE(quantity)

BOOST_AUTO_TEST_CASE(every_row_of_the_reference_table_holds) {
  std::ifstream file(WRIT_SOURCE_DIR "/tests/schema/quantity_cases.tsv");
  std::string line;
  std::getline(file, line);
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    const auto cells = split_tabs(line);
    BOOST_REQUIRE_EQUAL(cells.size(), 5U);
    google::protobuf::StringValue input;
    BOOST_REQUIRE(!read_json(cells[0], &input, JsonMode::kRequest).error);
    const auto parsed = Quantity::parse(input.value());
    BOOST_TEST(verdict_of(parsed) == (cells[1] == "accept" ? "accept" : cells[4]), cells[0]);
    if (const Quantity* quantity = std::get_if<Quantity>(&parsed)) {
      BOOST_TEST(format_name(quantity->format()) == cells[2], cells[0]);
      BOOST_TEST(quantity->canonical() == cells[3], cells[0]);
    }
  }
  BOOST_TEST(rows == 199);
}

// Verdicts of the reference parser.
BOOST_AUTO_TEST_CASE(a_text_without_digits_is_zero_with_most_suffixes) {
  for (const char* text : {"-", ".", "+Ti", "-.Gi", "n", "e-9", "E18", "E"}) {
    BOOST_TEST(must_parse(text).is_zero(), text);
  }
  for (const char* text : {"Pi", "+Ei", ".Ei", "e-10", "-E-120"}) {
    BOOST_TEST(verdict_of(Quantity::parse(text)) == "numeric", text);
  }
}

BOOST_AUTO_TEST_CASE(exponents_are_bounded) {
  BOOST_TEST(must_parse("1e1000").canonical() == "10e999");
  BOOST_TEST(must_parse("1e-1000").canonical() == "1e-9");
  BOOST_TEST(must_parse("0e+1000").canonical() == "0");
  for (const char* text : {"1e1001", "1e-1001", "0e1001", "1E99999999999999999999"}) {
    BOOST_TEST(verdict_of(Quantity::parse(text)) == "suffix", text);
  }
}

BOOST_AUTO_TEST_CASE(a_number_of_more_than_1000_digits_is_refused) {
  BOOST_TEST(verdict_of(Quantity::parse(std::string(1000, '9'))) == "accept");
  BOOST_TEST(verdict_of(Quantity::parse("0." + std::string(999, '9') + "Ei")) == "accept");
  BOOST_TEST(verdict_of(Quantity::parse(std::string(1001, '9'))) == "numeric");
  BOOST_TEST(verdict_of(Quantity::parse("9." + std::string(1000, '9'))) == "numeric");
}

BOOST_AUTO_TEST_CASE(a_canonical_form_is_read_as_the_number_it_is_of) {
  const std::string nines(995, '9');
  for (const std::string& text : {std::string("1000000e1000"), nines + "e1000", nines + "E",
                                  nines + ".999", std::string(1000, '9') + "e999"}) {
    const Quantity quantity = must_parse(text);
    BOOST_TEST((must_parse(quantity.canonical()) == quantity), text);
  }
  BOOST_TEST(must_parse("1000000e1000").canonical() == "10000000e999");
  // As in Kubernetes: the notation is lost with the suffix.
  BOOST_TEST(must_parse("1.953125Ki").canonical() == "2000");
  BOOST_TEST(must_parse("2000").canonical() == "2k");
  // Within the bounds themselves, but not in canonical form.
  for (const std::string& text : {std::string(1000, '9') + "e1000", nines + ".9999"}) {
    BOOST_TEST(verdict_of(Quantity::parse(text)) == "numeric", text);
  }
}

BOOST_AUTO_TEST_CASE(hostile_texts_cost_little) {
  const auto start = std::chrono::steady_clock::now();
  const std::string digits(1 << 20, '7');
  for (int i = 0; i < 20; ++i) {
    (void)Quantity::parse(digits);
    (void)Quantity::parse("." + digits + "Ei");
    (void)Quantity::parse("1" + std::string(1 << 20, 'e'));
    (void)Quantity::parse("1e" + digits);
    (void)must_parse(std::string(1000, '9') + "e999").canonical();
  }
  // Quadratic work would take many minutes.
  BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds(60)));
}

BOOST_AUTO_TEST_CASE(comparison_is_exact_and_blind_to_the_notation) {
  BOOST_TEST((must_parse("1") == must_parse("1000m")));
  BOOST_TEST((must_parse("1Gi") > must_parse("1G")));
  BOOST_TEST((must_parse("-1") < must_parse("1n")));
  BOOST_TEST((must_parse("-2") < must_parse("-1")));
  BOOST_TEST((must_parse("9007199254740993") > must_parse("9007199254740992")));
  BOOST_TEST((must_parse("-0") == must_parse("m")));
  BOOST_TEST((must_parse("1024") == must_parse("1Ki")));
  BOOST_TEST((Quantity() == must_parse("0")));
}

BOOST_AUTO_TEST_CASE(only_numbers_below_zero_are_negative) {
  BOOST_TEST(must_parse("-1n").is_negative());
  BOOST_TEST(must_parse("-0.0000000001").is_negative());
  for (const char* text : {"-0", "-", "0", "1", "-m", "-0.0Ki"}) {
    BOOST_TEST(!must_parse(text).is_negative(), text);
  }
}

BOOST_AUTO_TEST_CASE(the_error_texts_are_those_of_kubernetes) {
  BOOST_TEST(describe(QuantityError::kFormat) ==
             "quantities must match the regular expression "
             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  BOOST_TEST(describe(QuantityError::kNumeric) == "unable to parse numeric part of quantity");
  BOOST_TEST(describe(QuantityError::kSuffix) == "unable to parse quantity's suffix");
}

BOOST_AUTO_TEST_CASE(random_quantities_agree_with_exact_rationals) {
  const char* given = std::getenv("WRIT_SEED");
  const std::uint64_t seed = given ? std::stoull(given) : std::random_device()();
  BOOST_TEST_MESSAGE("seed (WRIT_SEED): " << seed);
  std::mt19937_64 random(seed);
  std::pair<cpp_int, Quantity> previous{0, Quantity()};
  for (int i = 0; i < 20'000; ++i) {
    const std::string number = random_number(random);
    const std::string suffix = random_suffix(random);
    const bool negative = random() % 4 == 0;
    const std::string text = (negative ? "-" : "") + number + suffix;
    const Quantity quantity = must_parse(text);
    const cpp_int nanos = expected_nanos(number, suffix);

    std::string canonical = quantity.canonical();
    BOOST_REQUIRE_MESSAGE(must_parse(canonical) == quantity,
                          text << " -> " << canonical << ", seed " << seed);
    BOOST_REQUIRE_MESSAGE(must_parse(canonical).canonical() == canonical,
                          text << " -> " << canonical << ", seed " << seed);
    BOOST_REQUIRE_MESSAGE(quantity.is_negative() == (negative && nanos != 0), text);
    if (quantity.is_negative()) canonical.erase(0, 1);
    const auto [digits, canonical_suffix] = split_suffix(canonical);
    BOOST_REQUIRE_MESSAGE(
        exact_value(digits, canonical_suffix) * 1'000'000'000 == cpp_rational(nanos),
        text << " -> " << canonical << ", seed " << seed);

    const cpp_int signed_nanos = negative ? cpp_int(-nanos) : nanos;
    const bool below = quantity < previous.second, same = quantity == previous.second;
    BOOST_REQUIRE_MESSAGE(
        below == (signed_nanos < previous.first) && same == (signed_nanos == previous.first),
        text << " against the one before, seed " << seed);
    // Capped, it is the lesser of the two, in that one's own notation.
    const Quantity& capped = quantity.capped(previous.second);
    const Quantity& lesser = previous.first < signed_nanos ? previous.second : quantity;
    BOOST_REQUIRE_MESSAGE(capped == lesser && capped.canonical() == lesser.canonical(),
                          text << " capped by the one before, seed " << seed);
    previous = {signed_nanos, quantity};
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
