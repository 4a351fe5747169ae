#include "events/erasure.h"

#include <map>

#include "events/errors.h"
#include "events/log_domain.h"

namespace writ {
namespace {

// A function of the tables' owner: the service itself has no right to change events.
constexpr char kErase[] = "SELECT writ.erase_event($1::bigint)";

Decision decide(const Erasure& erasure, Reader& reader) {
  const std::string position = std::to_string(erasure.position.value);
  // Recorded first: the function makes sure of that. A rejection takes it back.
  reader.stage({{{kLogStream}, kLogErased, "{}", {{kErasedPosition, position}}}});
  const LookupRows rows = reader.query(kErase, {position});
  const std::string why = rows.at(0).at(0).value_or("");
  if (why.empty()) return std::vector<NewEvent>{};
  static const std::map<std::string, ErasureRefused> reasons = {
      {"missing", ErasureRefused::kNoEvent},
      {"log", ErasureRefused::kOfLog},
      {"erased", ErasureRefused::kAlready},
      {"newest", ErasureRefused::kNewest},
  };
  const auto reason = reasons.find(why);
  if (reason == reasons.end()) throw CorruptLog("erase_event answers " + why);
  return Rejected{reason->second};
}

}  // namespace

Domain erasure_domain() {
  Domain domain;
  domain.name = kErasureDomain;
  domain.load = [](const std::any&) { return std::vector<StreamName>{{kLogStream}}; };
  domain.decide = [](const std::any& body, Reader& reader) {
    return decide(std::any_cast<const Erasure&>(body), reader);
  };
  return domain;
}

}  // namespace writ
