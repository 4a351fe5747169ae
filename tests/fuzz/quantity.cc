#include "schema/quantity.h"

#include <optional>
#include <string>

#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace writ::fuzz {
namespace {

std::optional<Quantity> parse(std::string_view text) {
  const auto parsed = Quantity::parse(text);
  if (const auto* const error = std::get_if<QuantityError>(&parsed)) {
    require(!describe(*error).empty(), "a refusal has words");
    return std::nullopt;
  }
  return std::get<Quantity>(parsed);
}

void check_one(std::string_view text, const Quantity& quantity) {
  require(text.find_first_not_of("+-.0123456789eEinumkKMGTP") == std::string_view::npos,
          "a quantity has no foreign characters");
  require(!(quantity.is_zero() && quantity.is_negative()), "zero has no sign");
  require(quantity == quantity && (quantity <=> quantity) == 0, "a quantity equals itself");
  const std::string canonical = quantity.canonical();
  require(canonical.starts_with('-') == quantity.is_negative(), "the canonical form has the sign");
  require(canonical.find('.') == std::string::npos, "the canonical form has no fraction");
  const auto again = parse(canonical);
  require(again.has_value(), "the canonical form is a quantity");
  require(*again == quantity, "the canonical form is the same number");
  const bool loses_suffix = quantity.format() == Quantity::Format::kBinarySi &&
                            again->format() == Quantity::Format::kDecimalSi;
  if (!loses_suffix) {
    require(again->canonical() == canonical, "the canonical form is its own");
    return;
  }
  // As in Kubernetes, a binary number without a suffix is decimal when it is read again.
  const auto settled = parse(again->canonical());
  require(settled && *settled == quantity && settled->canonical() == again->canonical(),
          "the canonical form in decimal notation is its own");
}

void check_two(const Quantity& a, const Quantity& b) {
  const auto order = a <=> b;
  require(((b <=> a) == 0) == (order == 0) && ((b <=> a) < 0) == (order > 0),
          "an order has two sides");
  require((a == b) == (order == 0), "equal is neither above nor below");
  if (a == b && a.format() == b.format()) {
    require(a.canonical() == b.canonical(), "equal numbers have one canonical form");
  }
  if (a.is_negative() && !b.is_negative()) require(order < 0, "negative is below the others");
}

}  // namespace

void quantity(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string_view texts[] = {input.substr(0, end),
                                    input.substr(std::min(end + 1, input.size()))};
  const auto first = parse(texts[0]);
  const auto second = parse(texts[1]);
  if (first) check_one(texts[0], *first);
  if (second) check_one(texts[1], *second);
  if (first && second) check_two(*first, *second);
}

}  // namespace writ::fuzz
