#include <boost/test/unit_test.hpp>

#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"

namespace writ {
namespace {

void check_same(const Accepted& again, const Accepted& first) {
  BOOST_CHECK(again.replayed);
  BOOST_CHECK(!first.replayed);
  BOOST_CHECK_EQUAL(again.command_id, first.command_id);
  BOOST_CHECK(again.recorded_at == first.recorded_at);
  BOOST_REQUIRE_EQUAL(again.events.size(), first.events.size());
  for (std::size_t i = 0; i < again.events.size(); ++i) {
    BOOST_CHECK_EQUAL(again.events[i].stream.value, first.events[i].stream.value);
    BOOST_CHECK_EQUAL(again.events[i].version.value, first.events[i].version.value);
    BOOST_CHECK_EQUAL(again.events[i].position.value, first.events[i].position.value);
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(idempotency_tests, LogFixture)

BOOST_AUTO_TEST_CASE(the_same_command_again_gets_the_first_answer) {
  // One command by the limit: decided anew it would be rejected, as an update with a stale version
  // would.
  const Command command = keyed_command("key", "add 5", {Add{"a", 5}, AddIfTotalBelow{"b", 5, 10}});
  auto first_sequencer = sequencer();
  const Accepted first = accepted(submit(*first_sequencer, command));
  check_same(accepted(submit(*first_sequencer, command)), first);
  accepted(submit(*first_sequencer, counter_command({Add{"a", 1}})));
  check_same(accepted(submit(*first_sequencer, command)), first);
  first_sequencer.reset();
  const auto after_restart = sequencer();
  check_same(accepted(submit(*after_restart, command)), first);
  BOOST_CHECK_EQUAL(events(), 3);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(the_same_command_twice_in_one_batch_is_done_once) {
  const auto sequencer = this->sequencer();
  const Command command = keyed_command("key", "add 5", {AddIfTotalBelow{"a", 5, 6}});
  const Command in_memory = keyed_command("key 2", "add 6", {Add{"b", 6}});
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  for (int i = 0; i < 2; ++i) {
    pile.add(command);
    pile.add(in_memory);
  }
  const auto results = pile.release();
  BOOST_CHECK_EQUAL(sequencer->status().batches, 2u);
  check_same(accepted(results[3]), accepted(results[1]));
  check_same(accepted(results[4]), accepted(results[2]));
  BOOST_CHECK_EQUAL(events(), 3);
  BOOST_CHECK_EQUAL(number("SELECT count(*) FROM commands"), 2);
  check_log(*this);
  BOOST_CHECK(!fell_back());
}

BOOST_AUTO_TEST_CASE(another_command_under_a_used_key_is_an_error) {
  const auto sequencer = this->sequencer();
  accepted(submit(*sequencer, keyed_command("key", "add 5", {Add{"a", 5}})));
  BOOST_CHECK(is_error<IdempotencyKeyReused>(
      submit(*sequencer, keyed_command("key", "add 6", {Add{"a", 6}}))));
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  pile.add(keyed_command("new key", "add 5", {Add{"a", 5}}));
  pile.add(keyed_command("new key", "add 6", {Add{"a", 6}}));
  pile.add(counter_command({Add{"a", 1}}));
  const auto results = pile.release();
  accepted(results[1]);
  BOOST_CHECK(is_error<IdempotencyKeyReused>(results[2]));
  accepted(results[3]);
  BOOST_CHECK_EQUAL(total("a"), 11);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(keys_of_different_actors_do_not_meet) {
  const auto sequencer = this->sequencer();
  Command command = keyed_command("key", "add 5", {Add{"a", 5}});
  accepted(submit(*sequencer, command));
  command.actor = "another";
  BOOST_CHECK(!accepted(submit(*sequencer, command)).replayed);
  BOOST_CHECK_EQUAL(total("a"), 10);
}

BOOST_AUTO_TEST_CASE(a_rejection_is_not_remembered) {
  const auto sequencer = this->sequencer();
  const Command command = keyed_command("key", "add", {AddIfOther{"a", 1, "b", 1}});
  BOOST_CHECK(is_rejected(submit(*sequencer, command)));
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  pile.add(command);
  pile.add(counter_command({Add{"b", 1}}));
  pile.add(command);
  const auto results = pile.release();
  BOOST_CHECK(is_rejected(results[1]));
  BOOST_CHECK(!accepted(results[3]).replayed);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_command_that_broke_is_not_remembered) {
  const auto sequencer = this->sequencer();
  BOOST_CHECK(
      is_error<StorageError>(submit(*sequencer, keyed_command("key", "poison", {Poison{"a"}}))));
  BOOST_CHECK(is_error<std::runtime_error>(
      submit(*sequencer, keyed_command("key", "fail", {Add{"a", 1}, Fail{}}))));
  BOOST_CHECK(!accepted(submit(*sequencer, keyed_command("key", "add", {Add{"a", 1}}))).replayed);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_key_may_be_any_text_of_128_bytes) {
  const auto sequencer = this->sequencer();
  std::string key = "\"',{}\\x \t";
  key.resize(128, 'k');
  const Accepted first = accepted(submit(*sequencer, keyed_command(key, "add", {Add{"a", 1}})));
  check_same(accepted(submit(*sequencer, keyed_command(key, "add", {Add{"a", 1}}))), first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
