#include <boost/test/unit_test.hpp>

#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"

namespace writ {
namespace {

/// What one writer sends: every kind of command, many of them to streams that the others write too.
Operations nth_command(int writer, int n) {
  const std::string own = "own" + std::to_string(writer);
  const std::string shared = "shared" + std::to_string(n % 3);
  switch (n % 6) {
    case 0:
      return {Add{shared, 1}};
    case 1:
      return {Add{own, 1}, AddIfTotalBelow{shared, 1, 1'000'000}, Add{own, 1}};
    case 2:
      return {Add{own, 1}, AddIfTotalBelow{shared, 1, 0}};  // always taken back, after a flush
    case 3:
      return {AddIfOther{shared, 1, own, 1}};
    case 4:
      return {AddIfOther{shared, 1, "nobody", 1}};  // always rejected
    default:
      return {Add{shared, 1}, Add{shared, 1}};
  }
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(two_sequencers_share_one_log, LogFixture) {
  constexpr int kWriters = 8;
  constexpr int kCommands = 48;
  const std::unique_ptr<Sequencer> sequencers[] = {sequencer(), sequencer()};
  std::vector<std::future<std::size_t>> writers;
  for (int writer = 0; writer < kWriters; ++writer)
    writers.push_back(std::async(std::launch::async, [&, writer] {
      std::size_t appended = 0;
      for (int n = 0; n < kCommands; ++n) {
        const Outcome outcome =
            sequencers[writer % 2]->submit(counter_command(nth_command(writer, n)));
        if (const auto* accepted = std::get_if<Accepted>(&outcome))
          appended += accepted->events.size();
      }
      return appended;
    }));
  std::size_t appended = 0;
  for (auto& writer : writers) appended += writer.get();
  // Of six commands four are accepted, with 1 + 3 + 1 + 2 events.
  BOOST_CHECK_EQUAL(appended, kWriters * (kCommands / 6) * 7u);
  BOOST_CHECK_EQUAL(events(), static_cast<std::int64_t>(appended));
  BOOST_CHECK_EQUAL(number("SELECT sum(total) FROM counters"), static_cast<std::int64_t>(appended));
  BOOST_CHECK_GT(sequencers[0]->status().events, 0u);
  BOOST_CHECK_EQUAL(sequencers[0]->status().events + sequencers[1]->status().events, appended);
  BOOST_CHECK(!fell_back());
  check_log(*this);
}

BOOST_FIXTURE_TEST_CASE(two_sequencers_do_a_keyed_command_once, LogFixture) {
  const auto one = sequencer();
  const auto other = sequencer();
  for (int i = 0; i < 10; ++i) {
    const Command command = keyed_command("key " + std::to_string(i), "add", {Add{"a", 1}});
    auto here = submit_later(*one, command);
    auto there = submit_later(*other, command);
    BOOST_CHECK_NE(accepted(here.get()).replayed, accepted(there.get()).replayed);
  }
  BOOST_CHECK_EQUAL(total("a"), 10);
  check_log(*this);
}

BOOST_FIXTURE_TEST_CASE(a_flush_that_is_taken_back_keeps_the_heads_lock, LogFixture) {
  // The savepoint's own update of log_head is undone; the lock from before it must survive.
  const auto sequencer = this->sequencer();
  Domain slow = counter_domain();
  std::promise<void> undone, go_on;
  auto decide_counter = slow.decide;
  slow.name = "slow";
  slow.project.clear();
  slow.decide = [&](const std::any&, Reader&) -> Decision {
    undone.set_value();
    go_on.get_future().wait();
    return std::vector<NewEvent>{};
  };
  Sequencer two(options(), {counter_domain(), slow});
  Pile pile(*this, two);
  pile.add(counter_command({Add{"plug", 1}}));
  pile.add(counter_command({Add{"a", 1}, AddIfTotalBelow{"a", 1, 0}}));
  Command last = counter_command({});
  last.domain = "slow";
  pile.add(last);
  auto results = std::async(std::launch::async, [&] { return pile.release(); });
  undone.get_future().wait();
  BOOST_CHECK_THROW(owner.exec("SELECT position FROM log_head FOR UPDATE NOWAIT"), StorageError);
  go_on.set_value();
  BOOST_CHECK(is_rejected(results.get()[1], 1));
}

}  // namespace writ
