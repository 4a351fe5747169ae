// The same decisions against the Reader that keeps everything in memory.

#include "tests/events/memory_log.h"

#include <boost/test/unit_test.hpp>

#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"

namespace writ {

BOOST_AUTO_TEST_SUITE(memory_log_tests)

BOOST_AUTO_TEST_CASE(operations_see_each_other_and_are_taken_back_together) {
  MemoryLog log(counter_domain());
  const auto run = [&](Operations operations) -> CommandResult {
    try {
      return log.run(counter_command(std::move(operations)));
    } catch (const std::exception&) {
      return std::current_exception();
    }
  };
  BOOST_CHECK_EQUAL(
      accepted(run({Add{"a", 3}, AddIfOther{"b", 4, "a", 3}, AddIfTotalBelow{"a", 2, 9}}))
          .events.size(),
      3u);
  BOOST_CHECK(is_rejected(run({Add{"a", 1}, AddIfTotalBelow{"a", 1, 10}}), 1));
  BOOST_CHECK(is_error<std::runtime_error>(run({Add{"c", 1}, Fail{}})));
  BOOST_CHECK_EQUAL(log.events().size(), 3u);
  BOOST_CHECK(!log.latest(counter_stream("c")));
  BOOST_CHECK_EQUAL(total_of(*log.latest(counter_stream("a"))), 5);
  BOOST_CHECK_EQUAL(log.latest(counter_stream("a"))->version.value, 2);
}

BOOST_AUTO_TEST_CASE(keys_are_remembered) {
  MemoryLog log(counter_domain());
  const auto first = std::get<Accepted>(log.run(keyed_command("k", "add", {Add{"a", 1}})));
  const auto again = std::get<Accepted>(log.run(keyed_command("k", "add", {Add{"a", 1}})));
  BOOST_CHECK(again.replayed);
  BOOST_CHECK_EQUAL(again.events[0].position.value, first.events[0].position.value);
  BOOST_CHECK_THROW(log.run(keyed_command("k", "other", {Add{"a", 1}})), IdempotencyKeyReused);
  BOOST_CHECK_EQUAL(log.events().size(), 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
