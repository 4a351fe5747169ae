#include "events/sequencer.h"

#include <boost/test/unit_test.hpp>

#include "events/envelope.h"
#include "tests/events/counter_domain.h"
#include "tests/events/log_fixture.h"
#include "tests/support/postgres_proxy.h"

namespace writ {

BOOST_FIXTURE_TEST_SUITE(sequencer_tests, LogFixture)

BOOST_AUTO_TEST_CASE(a_lone_command_is_the_first_event) {
  const auto sequencer = this->sequencer();
  const Accepted first = accepted(submit(*sequencer, counter_command({Add{"a", 5}})));
  BOOST_REQUIRE_EQUAL(first.events.size(), 1u);
  BOOST_CHECK_EQUAL(first.events[0].position.value, 1);
  BOOST_CHECK_EQUAL(first.events[0].version.value, 1);
  BOOST_CHECK_EQUAL(first.events[0].stream.value, "counter/a");
  BOOST_CHECK(!first.replayed);
  BOOST_CHECK_EQUAL(total("a"), 5);
  BOOST_CHECK_EQUAL(text("SELECT command_id FROM events"), first.command_id);
  BOOST_CHECK_EQUAL(
      number("SELECT (extract(epoch FROM recorded_at) * 1000000)::bigint FROM events"),
      first.recorded_at.time_since_epoch().count());
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_stored_envelope_is_the_canonical_one_of_its_columns) {
  const auto sequencer = this->sequencer();
  Command command = counter_command({Add{"\"é\\\n\x1f\x7f{}", 5}});
  command.actor = "bjørn \"the\\\tboss\"";
  command.reason = std::string(4096, 'r');
  command.request_id = "";
  accepted(submit(*sequencer, std::move(command)));
  accepted(submit(*sequencer, counter_command({Add{"\"é\\\n\x1f\x7f{}", 6}})));
  const pqxx::result rows = owner.exec(
      "SELECT encode(log_id, 'hex'), e.position, stream, version, type, (extract(epoch FROM "
      "e.recorded_at) * 1000000)"
      "::bigint, actor, reason, command_id, request_id, envelope::jsonb -> 'detail' ->> 'amount',"
      " encode(payload_salt, 'hex'), payload, envelope, encode(leaf_hash, 'hex')"
      " FROM events e, log_head ORDER BY e.position");
  BOOST_REQUIRE_EQUAL(rows.size(), 2u);
  std::string prev;
  for (const pqxx::row& row : rows) {
    Envelope envelope;
    envelope.log = row[0].c_str();
    envelope.position = {row[1].as<std::int64_t>()};
    envelope.stream = {row[2].c_str()};
    envelope.version = {row[3].as<std::int64_t>()};
    envelope.type = row[4].c_str();
    envelope.time = Timestamp(std::chrono::microseconds(row[5].as<std::int64_t>()));
    envelope.actor = row[6].c_str();
    envelope.reason = row[7].c_str();
    envelope.command = row[8].c_str();
    envelope.request = row[9].c_str();
    envelope.detail = {{"amount", row[10].c_str()}};
    envelope.payload_hash = hex(payload_hash(from_hex(row[11].c_str()), row[12].c_str()));
    envelope.prev = prev;
    BOOST_CHECK_EQUAL(canonical_envelope(envelope), row[13].c_str());
    BOOST_CHECK_EQUAL(hex(leaf_hash(row[13].c_str())), row[14].c_str());
    prev = row[14].c_str();
  }
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(versions_count_within_a_stream_and_positions_over_all) {
  const auto sequencer = this->sequencer();
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  accepted(submit(*sequencer, counter_command({Add{"b", 1}})));
  const Accepted third = accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  BOOST_CHECK_EQUAL(third.events[0].position.value, 3);
  BOOST_CHECK_EQUAL(third.events[0].version.value, 2);
  BOOST_CHECK_EQUAL(sequencer->status().head.value, 3);
  BOOST_CHECK_EQUAL(sequencer->status().events, 3u);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_new_sequencer_goes_on_where_the_last_one_stopped) {
  accepted(submit(*sequencer(), counter_command({Add{"a", 1}})));
  const auto second = sequencer();
  BOOST_CHECK_EQUAL(second->status().head.value, 1);
  const Accepted next = accepted(submit(*second, counter_command({Add{"a", 1}})));
  BOOST_CHECK_EQUAL(next.events[0].position.value, 2);
  BOOST_CHECK_EQUAL(next.events[0].version.value, 2);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_rejected_command_leaves_nothing) {
  const auto sequencer = this->sequencer();
  BOOST_CHECK(is_rejected(submit(*sequencer, counter_command({AddIfOther{"a", 1, "b", 1}}))));
  BOOST_CHECK_EQUAL(events(), 0);
  BOOST_CHECK_EQUAL(sequencer->status().batches, 0u);
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_rejected_command_between_two_neighbours_of_its_batch_leaves_nothing) {
  const auto sequencer = this->sequencer();
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  pile.add(counter_command({Add{"a", 1}}));
  pile.add(counter_command({Add{"a", 100}, AddIfOther{"a", 1, "nobody", 1}}));
  pile.add(counter_command({Add{"a", 2}}));
  const auto results = pile.release();
  BOOST_CHECK_EQUAL(sequencer->status().batches, 2u);
  accepted(results[1]);
  BOOST_CHECK(is_rejected(results[2], 1));
  const Accepted last = accepted(results[3]);
  BOOST_CHECK_EQUAL(last.events[0].position.value, 3);
  BOOST_CHECK_EQUAL(last.events[0].version.value, 2);
  BOOST_CHECK_EQUAL(total("a"), 3);
  check_log(*this);
  BOOST_CHECK(!fell_back());
}

BOOST_AUTO_TEST_CASE(a_command_sees_those_before_it_in_its_batch) {
  const auto sequencer = this->sequencer();
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  pile.add(counter_command({AddIfOther{"a", 1, "b", 5}}));  // too early
  pile.add(counter_command({Add{"b", 5}}));
  pile.add(counter_command({AddIfOther{"a", 1, "b", 5}}));
  pile.add(counter_command({AddIfTotalBelow{"c", 4, 11}}));  // 1 + 5 + 1 + 4
  pile.add(counter_command({AddIfTotalBelow{"c", 1, 11}}));
  pile.add(counter_command({AddIfTotalBelow{"c", 1, 12}}));
  const auto results = pile.release();
  BOOST_CHECK_EQUAL(sequencer->status().batches, 2u);
  BOOST_CHECK(is_rejected(results[1]));
  accepted(results[2]);
  accepted(results[3]);
  accepted(results[4]);
  BOOST_CHECK(is_rejected(results[5]));
  BOOST_CHECK_EQUAL(accepted(results[6]).events[0].version.value, 2);
  check_log(*this);
  BOOST_CHECK(!fell_back());
}

BOOST_AUTO_TEST_CASE(an_operation_sees_those_before_it_in_its_command) {
  const auto sequencer = this->sequencer();
  const Accepted all =
      accepted(submit(*sequencer, counter_command({Add{"a", 3}, AddIfOther{"b", 4, "a", 3},
                                                   AddIfTotalBelow{"a", 2, 9}, Add{"a", 1},
                                                   AddIfTotalBelow{"c", 1, 11}})));
  BOOST_REQUIRE_EQUAL(all.events.size(), 5u);
  BOOST_CHECK_EQUAL(all.events[2].version.value, 2);
  BOOST_CHECK_EQUAL(all.events[3].version.value, 3);
  BOOST_CHECK_EQUAL(all.events[4].position.value, 5);
  BOOST_CHECK_EQUAL(number("SELECT count(DISTINCT command_id) FROM events"), 1);
  BOOST_CHECK_EQUAL(total("a"), 6);
  BOOST_CHECK_EQUAL(sequencer->status().batches, 1u);
  check_log(*this);
  BOOST_CHECK(!fell_back());
}

BOOST_AUTO_TEST_CASE(a_commit_is_taken_back_whole) {
  struct Row {
    const char* name;
    Operations operations;
    std::size_t fails_at;
  };
  const Row rows[] = {
      {"in memory", {Add{"a", 1}, Add{"new", 1}, AddIfOther{"a", 1, "nobody", 1}}, 2},
      {"after its first operation was flushed",
       {Add{"a", 1}, Add{"new", 1}, AddIfTotalBelow{"a", 1, 0}},
       2},
      {"with rows behind the flush",
       {Add{"a", 1}, AddIfTotalBelow{"a", 1, 100}, Add{"new", 1}, AddIfOther{"a", 1, "nobody", 1}},
       3},
  };
  const auto sequencer = this->sequencer();
  std::int64_t before = 0;
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      Pile pile(*this, *sequencer);
      pile.add(counter_command({Add{"plug", 1}}));
      pile.add(counter_command({Add{"a", 1}}));
      pile.add(counter_command(row.operations));
      pile.add(counter_command({Add{"a", 1}}));
      pile.add(counter_command({AddIfOther{"b", 1, "new", 0}}));
      const auto results = pile.release();
      accepted(results[1]);
      BOOST_CHECK(is_rejected(results[2], row.fails_at));
      BOOST_CHECK_EQUAL(accepted(results[3]).events[0].position.value, before + 3);
      BOOST_CHECK(is_rejected(results[4]));
      before += 3;
      BOOST_CHECK_EQUAL(events(), before);
      check_log(*this);
    }
  }
  BOOST_CHECK(!fell_back());
}

BOOST_AUTO_TEST_CASE(a_batch_whose_only_writes_are_taken_back_leaves_nothing) {
  const auto sequencer = this->sequencer();
  BOOST_CHECK(is_rejected(
      submit(*sequencer, counter_command({Add{"a", 1}, AddIfTotalBelow{"a", 1, 0}})), 1));
  BOOST_CHECK_EQUAL(events(), 0);
  check_log(*this);
  BOOST_CHECK_EQUAL(
      accepted(submit(*sequencer, counter_command({Add{"a", 1}}))).events[0].position.value, 1);
  BOOST_CHECK(!fell_back());
}

BOOST_AUTO_TEST_CASE(a_command_without_events_is_accepted_and_leaves_nothing) {
  const auto sequencer = this->sequencer();
  BOOST_CHECK(accepted(submit(*sequencer, counter_command({Nothing{}}))).events.empty());
  BOOST_CHECK_EQUAL(events(), 0);
}

BOOST_AUTO_TEST_CASE(a_command_that_breaks_fails_alone) {
  struct Row {
    const char* name;
    Command command;
    bool (*expected)(const CommandResult&);
  };
  Command nobody_decides = counter_command({Add{"a", 1}});
  nobody_decides.domain = "nobody";
  Command wrong_body = counter_command({Add{"a", 1}});
  wrong_body.body = std::string("not operations");
  const Row rows[] = {
      {"its decision throws", counter_command({Fail{}}), &is_error<std::runtime_error>},
      {"its decision throws after a stage", counter_command({Add{"a", 1}, Fail{}}),
       &is_error<std::runtime_error>},
      {"its decision throws after a flush",
       counter_command({Add{"a", 1}, AddIfTotalBelow{"a", 1, 1000}, Fail{}}),
       &is_error<std::runtime_error>},
      {"its streams cannot be named", counter_command({FailToLoad{}}),
       &is_error<std::runtime_error>},
      {"no domain decides it", nobody_decides, &is_error<std::invalid_argument>},
      {"its body is of another domain", wrong_body, &is_error<std::bad_any_cast>},
      {"its stream has U+0000", counter_command({Add{std::string("a\0b", 3), 1}}),
       &is_error<std::invalid_argument>},
      {"its stream is not UTF-8", counter_command({Add{"\xff", 1}}),
       &is_error<std::invalid_argument>},
      {"its event's type is not UTF-8", counter_command({Named{"n", "\xff", ""}}),
       &is_error<std::invalid_argument>},
      {"its event's detail is not UTF-8", counter_command({Named{"n", "t", "\xff"}}),
       &is_error<std::invalid_argument>},
      {"the fold cannot read its event", counter_command({Poison{"p"}}), &is_error<StorageError>},
      {"the fold cannot read its event, seen at a flush",
       counter_command({Poison{"p"}, AddIfTotalBelow{"a", 1, 1000}}), &is_error<StorageError>},
  };
  const auto sequencer = this->sequencer();
  std::int64_t before = 0;
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      Pile pile(*this, *sequencer);
      pile.add(counter_command({Add{"plug", 1}}));
      pile.add(counter_command({Add{"a", 1}}));
      pile.add(row.command);
      pile.add(counter_command({Add{"a", 1}}));
      const auto results = pile.release();
      for (const std::size_t good : {1, 3})
        BOOST_CHECK_MESSAGE(std::holds_alternative<Outcome>(results[good]),
                            error_text(results[good]));
      BOOST_CHECK_MESSAGE(row.expected(results[2]), "got " << error_text(results[2]));
      before += 3;
      BOOST_CHECK_EQUAL(events(), before);
      // Only what the database alone can find costs its neighbours a second try; those rows are
      // last.
      BOOST_CHECK_EQUAL(fell_back(), row.expected == &is_error<StorageError>);
      check_log(*this);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_poisoned_command_in_a_full_batch_fails_alone) {
  constexpr std::size_t kBatch = 256;
  const auto sequencer = this->sequencer();
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  for (std::size_t i = 1; i <= kBatch; ++i) {
    if (i == 20)
      pile.add(counter_command({Poison{"p"}}));
    else
      pile.add(counter_command({Add{"c" + std::to_string(i % 7), 1}}));
  }
  const auto results = pile.release();
  for (std::size_t i = 0; i <= kBatch; ++i) {
    if (i == 20)
      BOOST_CHECK_MESSAGE(is_error<StorageError>(results[i]), error_text(results[i]));
    else
      accepted(results[i]);
  }
  BOOST_CHECK_EQUAL(events(), static_cast<std::int64_t>(kBatch));
  BOOST_CHECK(fell_back());  // it was one batch, which the poison took down
  check_log(*this);
}

BOOST_AUTO_TEST_CASE(a_lone_write_takes_at_most_four_round_trips) {
  PostgresProxy proxy;
  Sequencer sequencer(options_through(proxy.host()), {counter_domain()});
  accepted(submit(sequencer,
                  keyed_command("first", "first", {Add{"a", 1}})));  // prepares the statements
  for (int i = 0; i < 10; ++i) {
    const auto before = proxy.round_trips();
    accepted(submit(sequencer,
                    keyed_command("k" + std::to_string(i), "add", {Add{"a", 1}, Add{"b", 1}})));
    BOOST_CHECK_LE(proxy.round_trips() - before, 4u);
  }
  BOOST_CHECK_EQUAL(proxy.connections(), 1u);
}

BOOST_AUTO_TEST_CASE(an_append_notifies_once_with_the_head) {
  Connection listener(database.owner());
  pqxx::connection raw(database.owner());
  struct Receiver : pqxx::notification_receiver {
    using pqxx::notification_receiver::notification_receiver;
    void operator()(const std::string& payload, int) override { payloads.push_back(payload); }
    std::vector<std::string> payloads;
  } receiver(raw, "writ_log");
  const auto sequencer = this->sequencer();
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  pile.add(counter_command({Add{"a", 1}, AddIfTotalBelow{"a", 1, 100}, Add{"a", 1}}));
  pile.add(counter_command({AddIfTotalBelow{"a", 1, 100}}));
  pile.release();
  BOOST_CHECK(is_rejected(submit(*sequencer, counter_command({AddIfTotalBelow{"a", 1, 0}}))));
  accepted(submit(*sequencer, counter_command({Add{"a", 1}})));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (receiver.payloads.size() < 3 && std::chrono::steady_clock::now() < deadline)
    raw.await_notification(1, 0);
  const std::vector<std::string> expected = {"1", "5", "6"};
  BOOST_CHECK_EQUAL_COLLECTIONS(receiver.payloads.begin(), receiver.payloads.end(),
                                expected.begin(), expected.end());
}

BOOST_AUTO_TEST_CASE(a_stopped_sequencer_answers_what_is_queued_and_takes_no_more) {
  const auto sequencer = this->sequencer();
  Pile pile(*this, *sequencer);
  pile.add(counter_command({Add{"plug", 1}}));
  pile.add(counter_command({Add{"a", 1}}));
  auto stopped = std::async(std::launch::async, [&] { sequencer->stop(); });
  const auto results = pile.release();
  stopped.get();
  accepted(results[0]);
  accepted(results[1]);
  BOOST_CHECK(is_error<StorageUnavailable>(submit(*sequencer, counter_command({Add{"a", 1}}))));
  BOOST_CHECK_EQUAL(events(), 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
