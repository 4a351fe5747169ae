// Random histories: whatever is sent in whatever batches, over lost connections and restarts, the
// log is what the same commands give one after the other in memory. WRIT_SEED repeats one.

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <random>

#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"
#include "tests/events/memory_log.h"
#include "tests/support/postgres_proxy.h"

namespace writ {
namespace {

std::uint64_t seed() {
  if (const char* text = std::getenv("WRIT_SEED")) return std::stoull(text);
  return std::random_device{}();
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  int upto(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(engine_); }
  bool one_in(int n) { return upto(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

Operation random_operation(Dice& dice) {
  const auto name = [&] { return std::string(1, static_cast<char>('a' + dice.upto(5))); };
  switch (dice.upto(12)) {
    case 0:
      return AddIfTotalBelow{name(), dice.upto(10), 20 + dice.upto(1500)};
    case 1:
    case 2:
    case 3:
      return AddIfOther{name(), dice.upto(10), name(), dice.upto(300)};
    case 4:
      return dice.one_in(6) ? Operation(Fail{}) : Operation(Nothing{});
    default:
      return Add{name(), dice.upto(10)};
  }
}

Command random_command(Dice& dice) {
  Operations operations;
  const int count = dice.one_in(4) ? 1 + dice.upto(5) : 1;
  for (int i = 0; i < count; ++i) operations.push_back(random_operation(dice));
  if (!dice.one_in(3)) return counter_command(std::move(operations));
  // Few keys, so that many are used again, now with the same command and then with another. The
  // body may differ: what tells commands apart is the fingerprint.
  Command command = keyed_command("key " + std::to_string(dice.upto(40)),
                                  dice.one_in(5) ? "one" : "two", std::move(operations));
  if (dice.one_in(4)) command.actor = "another";
  return command;
}

std::string described(const CommandResult& result) {
  if (std::holds_alternative<std::exception_ptr>(result)) {
    if (is_error<IdempotencyKeyReused>(result)) return "key reused";
    return error_text(result);
  }
  const auto& outcome = std::get<Outcome>(result);
  if (const auto* rejected = std::get_if<Rejected>(&outcome))
    return "rejected at " +
           std::to_string(std::any_cast<const CounterRejected&>(rejected->why).operation);
  const auto& accepted = std::get<Accepted>(outcome);
  std::string text = accepted.replayed ? "replayed" : "accepted";
  for (const AppendedEvent& event : accepted.events)
    text += " " + event.stream.value + "@" + std::to_string(event.version.value) + "#" +
            std::to_string(event.position.value);
  return text;
}

CommandResult run(MemoryLog& log, const Command& command) {
  try {
    return log.run(command);
  } catch (const std::exception&) {
    return std::current_exception();
  }
}

struct HistoryFixture : LogFixture {
  std::unique_ptr<Sequencer> sequencer_through_proxy() {
    return std::make_unique<Sequencer>(options_through(proxy.host()),
                                       std::vector{counter_domain()});
  }

  /// One batch of random commands over at most one lost connection.
  void round(Dice& dice, MemoryLog& model, Sequencer& sequencer) {
    std::vector<Command> commands;
    for (int i = dice.one_in(3) ? 1 : 2 + dice.upto(24); i > 0; --i)
      commands.push_back(random_command(dice));
    Pile pile(*this, sequencer);
    for (const Command& command : commands) pile.add(command);
    if (dice.one_in(3)) {
      using When = PostgresProxy::Cut::When;
      proxy.arm({{dice.one_in(2) ? When::kBeforeServer : When::kBeforeClient, "", 1 + dice.upto(12),
                  false}});
    }
    const auto results = pile.release();
    for (std::size_t i = 0; i < commands.size(); ++i) {
      // Lost twice in one batch: then it must have had no effect.
      if (is_error<StorageUnavailable>(results[i]))
        ++unavailable;
      else
        BOOST_CHECK_EQUAL(described(results[i]), described(run(model, commands[i])));
    }
  }

  void compare(const MemoryLog& model) {
    const pqxx::result rows =
        owner.exec("SELECT stream, version, payload FROM events ORDER BY position");
    BOOST_REQUIRE_EQUAL(rows.size(), model.events().size());
    std::size_t i = 0;
    for (const pqxx::row& row : rows) {
      const MemoryLog::Event& event = model.events()[i++];
      BOOST_CHECK_EQUAL(row[0].c_str(), event.stream.value);
      BOOST_CHECK_EQUAL(row[1].as<std::int64_t>(), event.version.value);
      BOOST_CHECK_EQUAL(row[2].c_str(), event.payload);
    }
    check_log(*this);
  }

  PostgresProxy proxy;
  int unavailable = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(random_histories_are_what_the_memory_says, HistoryFixture) {
  const std::uint64_t chosen = seed();
  BOOST_TEST_MESSAGE("WRIT_SEED=" << chosen);
  BOOST_TEST_INFO_SCOPE("WRIT_SEED=" << chosen);
  Dice dice(chosen);
  MemoryLog model(counter_domain());
  auto sequencer = sequencer_through_proxy();
  for (int round_number = 0; round_number < 60; ++round_number) {
    BOOST_TEST_CONTEXT("WRIT_SEED=" << chosen << ", round " << round_number) {
      round(dice, model, *sequencer);
      proxy.arm({});
      if (dice.one_in(10)) terminate_app_sessions();
      if (dice.one_in(10)) {
        sequencer.reset();
        sequencer = sequencer_through_proxy();
      }
    }
  }
  BOOST_TEST_CONTEXT("WRIT_SEED=" << chosen) { compare(model); }
  BOOST_CHECK_GT(model.events().size(), 100u);
  BOOST_CHECK_GT(proxy.cuts(), 0u);
  BOOST_CHECK_LT(unavailable, 60);
  BOOST_CHECK(!fell_back());
}

}  // namespace writ
