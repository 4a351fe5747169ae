// The database is lost at every step in turn: nobody may be told anything but the truth.

#include <boost/test/unit_test.hpp>

#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"
#include "tests/support/postgres_proxy.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

using Cut = PostgresProxy::Cut;
using When = PostgresProxy::Cut::When;

const char* name_of(When when) {
  return when == When::kBeforeServer ? "before the server" : "before the client";
}

Cut at_commit(When when) { return {when, "COMMIT", 1, false}; }

struct FaultFixture : LogFixture {
  /// A sequencer behind the proxy that has written once, so that its statements are prepared.
  std::unique_ptr<Sequencer> warmed_up(
      std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    SequencerOptions options = options_through(proxy.host());
    options.patience = patience;
    auto sequencer = std::make_unique<Sequencer>(options, std::vector{counter_domain()});
    accepted(submit(*sequencer, counter_command({Add{"warm", 1}})));
    return sequencer;
  }
  PostgresProxy proxy;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fault_tests, FaultFixture)

BOOST_AUTO_TEST_CASE(a_connection_lost_at_any_step_costs_no_command_an_error) {
  struct Row {
    const char* name;
    Operations operations;
  };
  const Row rows[] = {
      {"a lone event", {Add{"a", 1}}},
      {"several events", {Add{"a", 1}, Add{"a", 1}, Add{"b", 1}}},
      {"a flush and a query", {Add{"a", 1}, AddIfTotalBelow{"b", 1, 1000}}},
  };
  const auto sequencer = warmed_up();
  for (const Row& row : rows) {
    const Command command = counter_command(row.operations);
    const auto appended = static_cast<std::int64_t>(row.operations.size());
    accepted(submit(*sequencer, command));  // prepares what it needs
    const auto before = proxy.round_trips();
    accepted(submit(*sequencer, command));
    const int steps = static_cast<int>(proxy.round_trips() - before);
    std::int64_t expected = events();
    for (const When when : {When::kBeforeServer, When::kBeforeClient}) {
      for (int step = 1; step <= steps; ++step) {
        BOOST_TEST_CONTEXT(row.name << ": cut " << name_of(when) << " at round trip " << step) {
          const auto cuts = proxy.cuts();
          proxy.arm({Cut{when, "", step, false}});
          const Accepted done = accepted(submit(*sequencer, command));
          BOOST_CHECK_EQUAL(proxy.cuts(), cuts + 1);
          BOOST_REQUIRE_EQUAL(done.events.size(), row.operations.size());
          BOOST_CHECK_EQUAL(done.events[0].position.value, expected + 1);
          expected += appended;
          BOOST_CHECK_EQUAL(events(), expected);
          BOOST_CHECK_EQUAL(text("SELECT command_id FROM events ORDER BY position DESC LIMIT 1"),
                            done.command_id);
          accepted(submit(*sequencer, command));  // prepares on the new connection
          expected += appended;
        }
      }
    }
  }
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_commit_whose_answer_is_lost_is_told_as_accepted_and_done_once) {
  const auto sequencer = warmed_up();
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  pile.add(keyed_command("key", "add", {Add{"a", 1}, Add{"b", 1}}));
  pile.add(counter_command({AddIfOther{"a", 1, "nobody", 1}}));
  pile.add(counter_command({Fail{}}));
  pile.add(counter_command({Add{"a", 1}}));
  proxy.arm({Cut{When::kBeforeClient, "COMMIT", 2, false}});  // the second batch's
  const auto results = pile.release();
  BOOST_CHECK_EQUAL(proxy.cuts(), 1u);
  accepted(results[0]);
  BOOST_CHECK(!accepted(results[1]).replayed);
  BOOST_CHECK(is_rejected(results[2]));
  BOOST_CHECK(is_error<std::runtime_error>(results[3]));
  BOOST_CHECK_EQUAL(accepted(results[4]).events[0].position.value, 5);
  BOOST_CHECK_EQUAL(events(), 5);
  BOOST_CHECK_EQUAL(sequencer->status().head.value, 5);
  BOOST_CHECK_EQUAL(sequencer->status().batches, 3u);
  BOOST_CHECK_GT(number("SELECT epoch FROM log_head"), 1);
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_commit_that_never_arrived_is_tried_again) {
  const auto sequencer = warmed_up();
  proxy.arm({at_commit(When::kBeforeServer)});
  const Accepted done = accepted(submit(*sequencer, keyed_command("key", "add", {Add{"a", 1}})));
  BOOST_CHECK_EQUAL(proxy.cuts(), 1u);
  BOOST_CHECK(!done.replayed);
  BOOST_CHECK_EQUAL(total("a"), 1);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_commit_that_never_arrives_twice_had_no_effect) {
  const auto sequencer = warmed_up();
  // Of each try: its COMMIT; between them the COMMITs of the search and of the check of the new
  // connection.
  proxy.arm({at_commit(When::kBeforeServer), Cut{When::kBeforeServer, "COMMIT", 3, false}});
  const auto result = submit(*sequencer, counter_command({Add{"a", 1}}));
  BOOST_CHECK_EQUAL(proxy.cuts(), 2u);
  BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(result), error_text(result));
  BOOST_CHECK_EQUAL(events(), 1);
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  BOOST_CHECK_EQUAL(total("a"), 1);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(the_search_for_a_lost_commit_may_be_lost_itself_at_any_step) {
  const auto sequencer = warmed_up();
  std::int64_t expected = 0;
  for (const When commit : {When::kBeforeServer, When::kBeforeClient}) {
    for (const When search : {When::kBeforeServer, When::kBeforeClient}) {
      for (int step = 1; step <= 4; ++step) {  // lock, epoch, read, commit
        BOOST_TEST_CONTEXT("commit cut " << name_of(commit) << ", search " << name_of(search)
                                         << " at " << step) {
          accepted(submit(*sequencer, counter_command({Add{"warm", 1}})));
          const auto cuts = proxy.cuts();
          proxy.arm({at_commit(commit), Cut{search, "", step, false}});
          accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
          BOOST_CHECK_EQUAL(proxy.cuts(), cuts + 2);
          BOOST_CHECK_EQUAL(total("a"), ++expected);
        }
      }
    }
  }
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(when_the_database_stays_away_the_outcome_is_unknown_and_a_retry_is_safe) {
  for (const When when : {When::kBeforeServer, When::kBeforeClient}) {
    BOOST_TEST_CONTEXT("cut " << name_of(when)) {
      const auto sequencer = warmed_up(std::chrono::milliseconds(150));
      const std::int64_t before = events();
      const Command command = keyed_command(name_of(when), "add", {Add{"a", 1}});
      proxy.arm({Cut{when, "COMMIT", 1, true}});
      const auto result = submit(*sequencer, command);
      BOOST_CHECK_MESSAGE(is_error<OutcomeUnknown>(result), error_text(result));
      const auto still_away = submit(*sequencer, command);
      BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(still_away), error_text(still_away));
      proxy.refuse(false);
      const Accepted retried = accepted(submit(*sequencer, command));
      BOOST_CHECK_EQUAL(retried.replayed, when == When::kBeforeClient);
      BOOST_CHECK_EQUAL(events(), before + 1);
      check_log(*this);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_database_that_comes_back_in_time_costs_no_error) {
  const auto sequencer = warmed_up();
  proxy.arm({Cut{When::kBeforeClient, "COMMIT", 1, true}});
  auto result = submit_later(*sequencer, counter_command({Add{"a", 1}}));
  const auto connections = proxy.connections();
  BOOST_REQUIRE(wait_until([&] { return proxy.cuts() == 1 && proxy.connections() > connections; }));
  proxy.refuse(false);
  accepted(result.get());
  BOOST_CHECK_EQUAL(total("a"), 1);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(another_process_at_the_lost_positions_does_not_pass_for_us) {
  const auto sequencer = warmed_up();
  const auto other = this->sequencer();
  proxy.arm({Cut{When::kBeforeServer, "COMMIT", 1, true}});
  auto result = submit_later(*sequencer, counter_command({Add{"a", 1}, Add{"a", 1}}));
  BOOST_REQUIRE(wait_until([&] { return proxy.cuts() == 1; }));
  BOOST_CHECK_EQUAL(
      accepted(submit(*other, counter_command({Add{"a", 10}}))).events[0].position.value, 2);
  proxy.refuse(false);
  const Accepted done = accepted(result.get());
  BOOST_CHECK_EQUAL(done.events[0].position.value, 3);
  BOOST_CHECK_EQUAL(done.events[0].version.value, 2);
  BOOST_CHECK_EQUAL(total("a"), 12);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_database_that_is_away_before_the_batch_means_no_effect) {
  const auto sequencer = warmed_up();
  proxy.refuse(true);
  terminate_app_sessions();
  const auto result = submit(*sequencer, counter_command({Add{"a", 1}}));
  BOOST_CHECK_MESSAGE(is_error<StorageUnavailable>(result), error_text(result));
  BOOST_CHECK(!warnings().empty());
  proxy.refuse(false);
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  BOOST_CHECK_EQUAL(total("a"), 1);
}

BOOST_AUTO_TEST_CASE(a_sequencer_needs_its_database_to_start) {
  proxy.refuse(true);
  BOOST_CHECK_THROW(Sequencer(options_through(proxy.host()), {counter_domain()}),
                    StorageUnavailable);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
