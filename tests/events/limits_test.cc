#include <atomic>
#include <boost/test/unit_test.hpp>
#include <future>
#include <random>

#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

using std::chrono::steady_clock;

Command sized(std::size_t bytes) {
  Command command = counter_command({Add{"a", 1}});
  command.bytes = bytes;
  return command;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(limits_tests, LogFixture)

BOOST_AUTO_TEST_CASE(a_full_queue_takes_no_more_until_it_is_drained) {
  struct Row {
    const char* name;
    std::size_t commands, bytes;
  };
  for (const Row& row : {Row{"commands", 2, 1 << 20}, Row{"bytes", 1000, 2 * 300 + 299}}) {
    BOOST_TEST_CONTEXT(row.name) {
      SequencerOptions options = this->options();
      options.queue_limit = row.commands;
      options.queue_bytes = row.bytes;
      Sequencer sequencer(options, {counter_domain()});
      const std::int64_t before = events();
      Pile pile(*this, sequencer);
      for (int i = 0; i < 3; ++i) pile.add(sized(300));  // the first is being worked on
      BOOST_CHECK(is_error<Overloaded>(submit(sequencer, sized(300))));
      for (const auto& result : pile.release()) accepted(result);
      accepted(submit(sequencer, sized(300)));
      BOOST_CHECK_EQUAL(events(), before + 4);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_batch_is_bounded_in_commands_and_bytes) {
  struct Row {
    const char* name;
    std::size_t commands, bytes;
    std::vector<std::size_t> sizes;
    std::uint64_t batches;
  };
  const Row rows[] = {
      {"commands", 2, 1 << 20, {1, 1, 1, 1, 1}, 3},
      {"bytes", 100, 1000, {500, 500, 1, 999, 1000}, 3},
      {"one larger than the bound goes alone", 100, 1000, {1, 5000, 1}, 3},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      SequencerOptions options = this->options();
      options.batch_limit = row.commands;
      options.batch_bytes = row.bytes;
      Sequencer sequencer(options, {counter_domain()});
      Pile pile(*this, sequencer);
      pile.add(sized(1));
      for (const std::size_t bytes : row.sizes) pile.add(sized(bytes));
      for (const auto& result : pile.release()) accepted(result);
      BOOST_CHECK_EQUAL(sequencer.status().batches, 1 + row.batches);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_command_whose_deadline_passed_in_the_queue_is_dropped) {
  const auto sequencer = this->sequencer();
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  Command late = counter_command({Add{"a", 1}});
  late.deadline = steady_clock::now() + std::chrono::milliseconds(20);
  pile.add(late);
  pile.add(counter_command({Add{"a", 10}}));
  BOOST_REQUIRE(wait_until([&] { return steady_clock::now() > late.deadline; }));
  const auto results = pile.release();
  BOOST_CHECK(is_error<DeadlineExceeded>(results[1]));
  accepted(results[2]);
  BOOST_CHECK_EQUAL(total("a"), 10);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_queued_command_is_answered_at_its_deadline_though_the_database_hangs) {
  const auto sequencer = this->sequencer();
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));  // its batch waits for the lock
  Command late = counter_command({Add{"a", 1}});
  late.deadline = steady_clock::now() + std::chrono::milliseconds(20);
  BOOST_CHECK(is_error<DeadlineExceeded>(submit(*sequencer, late)));
  BOOST_CHECK(app_waits_for_lock());
  BOOST_CHECK_EQUAL(sequencer->status().queued, 0u);
  pile.release();
  BOOST_CHECK_EQUAL(events(), 1);
}

BOOST_AUTO_TEST_CASE(callers_that_give_up_at_any_moment_leave_a_sequencer_that_goes_on) {
  constexpr int kCallers = 8;
  constexpr int kEach = 60;
  const auto sequencer = this->sequencer();
  std::atomic<std::int64_t> added = 0;
  std::vector<std::future<void>> callers;
  for (int caller = 0; caller < kCallers; ++caller)
    callers.push_back(std::async(std::launch::async, [&, caller] {
      std::mt19937 random(static_cast<unsigned>(caller));
      for (int i = 0; i < kEach; ++i) {
        Command command = counter_command({Add{"a", 1}});
        command.deadline = steady_clock::now() + std::chrono::microseconds(random() % 3000);
        const CommandResult result = submit(*sequencer, command);
        if (std::holds_alternative<Outcome>(result))
          ++added;
        else if (!is_error<DeadlineExceeded>(result))
          throw std::runtime_error(error_text(result));
      }
    }));
  for (auto& caller : callers) BOOST_CHECK_NO_THROW(caller.get());
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  BOOST_CHECK_EQUAL(total("a"), added + 1);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_command_that_is_too_late_from_the_start_has_no_effect) {
  const auto sequencer = this->sequencer();
  Command late = counter_command({Add{"a", 1}});
  late.deadline = steady_clock::now();
  BOOST_CHECK(is_error<DeadlineExceeded>(submit(*sequencer, late)));
  BOOST_CHECK_EQUAL(events(), 0);
}

BOOST_AUTO_TEST_CASE(a_command_in_a_batch_waits_for_its_commit_beyond_the_deadline) {
  const auto sequencer = this->sequencer();
  Pile pile(*this, *sequencer);
  Command command = counter_command({Add{"a", 1}});
  command.deadline = steady_clock::now() + std::chrono::milliseconds(1500);
  pile.add(command);  // returns once its batch waits for the lock
  BOOST_REQUIRE(steady_clock::now() < command.deadline);
  BOOST_REQUIRE(wait_until([&] { return steady_clock::now() > command.deadline; }));
  accepted(pile.release()[0]);
  BOOST_CHECK_EQUAL(total("a"), 1);
}

BOOST_AUTO_TEST_CASE(a_head_that_is_locked_for_too_long_means_unavailable_and_no_effect) {
  SequencerOptions options = this->options();
  const std::string setting = "lock_timeout=10s";
  const auto at = options.conninfo.find(setting);
  BOOST_REQUIRE(at != std::string::npos);
  options.conninfo.replace(at, setting.size(), "lock_timeout=50ms");
  Sequencer sequencer(options, {counter_domain()});
  Connection other(database.owner());
  other.exec("BEGIN; SELECT position FROM log_head FOR UPDATE");
  const auto result = submit(sequencer, counter_command({Add{"a", 1}}));
  BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(result), error_text(result));
  other.exec("ROLLBACK");
  accepted(submit(sequencer, counter_command({Add{"a", 1}})));
  BOOST_CHECK_EQUAL(total("a"), 1);
}

BOOST_AUTO_TEST_CASE(texts_are_bounded_and_storable) {
  struct Row {
    const char* name;
    std::string Command::*field;
    std::size_t limit;
  };
  const Row rows[] = {
      {"actor", &Command::actor, 256},
      {"reason", &Command::reason, 4096},
      {"request id", &Command::request_id, 128},
      {"idempotency key", &Command::idempotency_key, 128},
  };
  const auto sequencer = this->sequencer();
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      Command command = keyed_command("key", "add", {Add{"a", 1}});
      command.*row.field = std::string(row.limit, 'x');
      accepted(submit(*sequencer, command));
      command.*row.field += 'x';
      BOOST_CHECK(is_error<std::invalid_argument>(submit(*sequencer, command)));
      for (const std::string& bad : {std::string("a\0b", 3), std::string("\xff")}) {
        command.*row.field = bad;
        BOOST_CHECK(is_error<std::invalid_argument>(submit(*sequencer, command)));
      }
    }
  }
  Command nobody = counter_command({Add{"a", 1}});
  nobody.actor.clear();
  BOOST_CHECK(is_error<std::invalid_argument>(submit(*sequencer, nobody)));
  BOOST_CHECK_EQUAL(events(), number("SELECT count(*) FROM commands"));
}

BOOST_AUTO_TEST_CASE(a_detail_over_4_kib_is_refused) {
  Domain wordy = counter_domain();
  wordy.name = "wordy";
  wordy.project.clear();
  wordy.decide = [](const std::any& body, Reader&) -> Decision {
    const auto& add = std::get<Add>(std::any_cast<const Operations&>(body)[0]);
    const auto bytes = static_cast<std::size_t>(add.amount);
    return std::vector<NewEvent>{{counter_stream(add.name),
                                  "wordy.said",
                                  R"({"total":0})",
                                  {{"text", std::string(bytes - 4, '\x01')}}}};
  };
  Sequencer sequencer(options(), {counter_domain(), wordy});
  Command command = counter_command({Add{"a", 4096}});
  command.domain = "wordy";
  // The longest texts everywhere, all of them escaped: the envelope must still stay below 64 KiB.
  command.actor = std::string(256, '\x01');
  command.reason = std::string(4096, '\x01');
  command.request_id = std::string(128, '\x01');
  accepted(submit(sequencer, command));
  BOOST_CHECK_LT(number("SELECT max(length(envelope)) FROM events"), 64 * 1024);
  command.body = Operations{Add{"a", 4097}};
  const auto result = submit(sequencer, command);
  BOOST_CHECK_MESSAGE(is_error<std::invalid_argument>(result), error_text(result));
  BOOST_CHECK_EQUAL(events(), 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
