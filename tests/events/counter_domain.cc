#include "tests/events/counter_domain.h"

#include <stdexcept>

namespace writ {
namespace {

constexpr char kFold[] = R"sql(
INSERT INTO counters (name, total, version)
SELECT DISTINCT ON (stream) substr(stream, 9), (payload::jsonb ->> 'total')::bigint, version
FROM batch WHERE starts_with(stream, 'counter/') ORDER BY stream, version DESC
ON CONFLICT (name) DO UPDATE SET total = excluded.total, version = excluded.version
)sql";

constexpr char kPayloadHead[] = R"({"total":)";

NewEvent added(Reader& reader, const std::string& name, std::int64_t amount) {
  const StreamName stream = counter_stream(name);
  const auto state = reader.latest(stream);
  const std::int64_t total = (state ? total_of(*state) : 0) + amount;
  return {stream,
          kCounterAdded,
          kPayloadHead + std::to_string(total) + "}",
          {{"amount", std::to_string(amount)}}};
}

/// The events of one operation, or nothing when it does not hold.
struct Perform {
  Reader& reader;

  using Result = std::optional<std::vector<NewEvent>>;
  Result operator()(const Add& op) const { return {{added(reader, op.name, op.amount)}}; }
  Result operator()(const AddIfOther& op) const {
    const auto other = reader.latest(counter_stream(op.other));
    if (!other || total_of(*other) < op.at_least) return std::nullopt;
    return {{added(reader, op.name, op.amount)}};
  }
  Result operator()(const AddIfTotalBelow& op) const {
    if (std::stoll(reader.query(kSumOfTotals, {}).at(0).at(0).value()) + op.amount > op.limit)
      return std::nullopt;
    return {{added(reader, op.name, op.amount)}};
  }
  Result operator()(const Poison& op) const {
    return {{{counter_stream(op.name), kCounterAdded, "{", {}}}};
  }
  Result operator()(const Named& op) const {
    return {{{counter_stream(op.name), op.type, R"({"total":0})", {{"text", op.detail}}}}};
  }
  Result operator()(const Fail&) const { throw std::runtime_error("this operation always fails"); }
  Result operator()(const FailToLoad&) const { throw std::logic_error("never decided"); }
  Result operator()(const Nothing&) const { return std::vector<NewEvent>{}; }
};

Decision decide(const Operations& operations, Reader& reader) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    auto events = std::visit(Perform{reader}, operations[i]);
    if (!events) return Rejected{CounterRejected{i}};
    if (i + 1 == operations.size()) return *std::move(events);
    reader.stage(*std::move(events));
  }
  return std::vector<NewEvent>{};
}

/// What an operation changes; what AddIfOther looks up is left out on purpose.
std::vector<StreamName> streams_of(const Operations& operations) {
  std::vector<StreamName> streams;
  for (const Operation& operation : operations) {
    if (std::holds_alternative<FailToLoad>(operation))
      throw std::runtime_error("cannot name the streams");
    std::visit(
        [&](const auto& op) {
          if constexpr (requires { op.name; }) streams.push_back(counter_stream(op.name));
        },
        operation);
  }
  return streams;
}

}  // namespace

Domain counter_domain() {
  Domain domain;
  domain.name = kCounterDomain;
  domain.needs_payload = true;
  domain.load = [](const std::any& body) {
    return streams_of(std::any_cast<const Operations&>(body));
  };
  domain.decide = [](const std::any& body, Reader& reader) {
    return decide(std::any_cast<const Operations&>(body), reader);
  };
  domain.project = {{"counters", 1, kFold}};
  return domain;
}

StreamName counter_stream(const std::string& name) { return {"counter/" + name}; }

std::int64_t total_of(const StreamState& state) {
  return std::stoll(state.payload.value().substr(sizeof kPayloadHead - 1));
}

}  // namespace writ
