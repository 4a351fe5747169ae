#include <boost/multiprecision/cpp_int.hpp>
#include <boost/test/unit_test.hpp>
#include <random>

#include "schema/quantity.h"
#include "tests/schema/apply_cases.h"

namespace writ {
namespace {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;

/// A quantity as it is spelt, and what it is, not told by the code under test.
struct Spelt {
  std::string text;
  cpp_rational value;
};
using MaybeSpelt = std::optional<Spelt>;
using MaybeValue = std::optional<cpp_rational>;

cpp_rational tenths(unsigned long number) { return {cpp_int(number), cpp_int(10)}; }

MaybeSpelt random_quantity(std::mt19937_64& random) {
  if (random() % 3 == 0) return std::nullopt;
  const unsigned long number = random() % 40;
  switch (random() % 4) {
    case 0:
      return Spelt{std::to_string(number) + "00m", tenths(number)};
    case 1:
      return Spelt{std::to_string(number / 10) + "." + std::to_string(number % 10), tenths(number)};
    case 2:
      return Spelt{std::to_string(number) + "e-1", tenths(number)};
    default:
      return Spelt{std::to_string(number % 4), tenths(number % 4 * 10)};
  }
}

/// A CPU in a task, and the settings about it.
struct Round {
  MaybeSpelt min, max, request, limit;
  bool mirror, pod;

  std::vector<Say> settings() const {
    std::vector<Say> says{{"task_resource.mirror_limits_request", mirror ? "true" : "false"}};
    if (min) says.push_back({"task_resource.min.cpu", min->text});
    if (max) says.push_back({"task_resource.max.cpu", max->text});
    return says;
  }

  std::string task() const {
    const auto entry = [&](const MaybeSpelt& one) -> std::string {
      if (!one) return "";
      return pod ? "cpu=\"" + one->text + "\"" : "CPU=" + one->text;
    };
    return pod ? pod_task(entry(request), entry(limit))
               : container_task(entry(request), entry(limit));
  }

  /// What the rules say, once more.
  std::pair<MaybeValue, MaybeValue> request_and_limit() const {
    MaybeValue r, l;
    if (limit) l = max && max->value < limit->value ? max->value : limit->value;
    if (request) r = request->value;
    if (!request && min) r = min->value;
    if (r && max && *r > max->value) r = max->value;
    if (r && l && *r > *l) r = l;
    if (!l && r && mirror) l = r;
    return {r, l};
  }
};

std::optional<std::string> cpu_of(const flyteidl2::core::TaskTemplate& task, bool limits) {
  if (task.has_container()) {
    const auto& resources = task.container().resources();
    const auto& list = limits ? resources.limits() : resources.requests();
    if (list.empty()) return std::nullopt;
    return list.Get(0).value();
  }
  const auto member = [](const google::protobuf::Struct& of, const std::string& name) {
    const auto found = of.fields().find(name);
    return found == of.fields().end() ? google::protobuf::Value() : found->second;
  };
  const auto container = member(task.k8s_pod().pod_spec(), "containers").list_value().values(0);
  const auto list = member(member(container.struct_value(), "resources").struct_value(),
                           limits ? "limits" : "requests");
  const auto value = member(list.struct_value(), "cpu");
  if (value.kind_case() != google::protobuf::Value::kStringValue) return std::nullopt;
  return value.string_value();
}

/// Whether a value is the wanted number, spelt as it was sent or, when it is another one than that,
/// canonical.
bool agrees(const std::optional<std::string>& is, const MaybeSpelt& sent,
            const MaybeValue& wanted) {
  if (!is || !wanted) return !is && !wanted;
  if (sent && sent->value == *wanted) return sent->text == *is;
  const Quantity found = std::get<Quantity>(Quantity::parse(*is));
  const cpp_rational milli = *wanted * 1000;
  const Quantity exact = std::get<Quantity>(Quantity::parse(numerator(milli).str() + "m"));
  return denominator(milli) == 1 && found == exact && found.canonical() == *is;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(apply_random)

BOOST_AUTO_TEST_CASE(random_tasks_end_as_exact_rationals_say) {
  const char* given = std::getenv("WRIT_SEED");
  const std::uint64_t seed = given ? std::stoull(given) : std::random_device()();
  BOOST_TEST_MESSAGE("WRIT_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 4000; ++i) {
    Round round;
    for (MaybeSpelt* one : {&round.min, &round.max, &round.request, &round.limit})
      *one = random_quantity(random);
    round.mirror = random() % 2 == 0;
    round.pod = random() % 2 == 0;
    const AppliedRun run = applied({round.settings()}, "{}", {round.task()});
    const auto [request, limit] = round.request_and_limit();
    BOOST_REQUIRE_MESSAGE(agrees(cpu_of(run.tasks[0], false), round.request, request) &&
                              agrees(cpu_of(run.tasks[0], true), round.limit, limit),
                          "round " << i << " of seed " << seed << ": " << round.task() << " became "
                                   << run.task_json());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
