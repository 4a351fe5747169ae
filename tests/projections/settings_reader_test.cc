#include "projections/settings_reader.h"

#include <boost/test/unit_test.hpp>
#include <future>
#include <optional>
#include <thread>

#include "projections/settings.h"
#include "tests/projections/settings_log.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

using std::chrono::steady_clock;
constexpr std::chrono::seconds kLong{30};

std::string queue_json(const std::string& queue) {
  return R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":")" + queue +
         R"("}}})";
}

struct ReaderFixture : SettingsLog {
  std::string queue(const std::string& key) {
    const auto found = reader.fetch({key}, steady_clock::now() + kLong);
    return found[0] ? found[0]->settings.run().default_queue().string_value() : "no record";
  }

  ConnectionPool pool{database.app(), 2, prepare_settings_queries};
  SettingsReader reader{pool, 1};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(settings_reader_tests, ReaderFixture)

BOOST_AUTO_TEST_CASE(answers_come_in_the_order_of_the_keys_and_null_where_nothing_is) {
  write({created("v1:::", queue_json("top"))});
  write({created("v1::d:p", queue_json("low"))});
  const auto found = reader.fetch({"v1::d:p", "v1::d:", "v1:::"}, steady_clock::now() + kLong);
  BOOST_REQUIRE_EQUAL(found.size(), 3u);
  BOOST_CHECK_EQUAL(found[0]->settings.run().default_queue().string_value(), "low");
  BOOST_CHECK(!found[1]);
  BOOST_CHECK_EQUAL(found[2]->settings.run().default_queue().string_value(), "top");
  BOOST_CHECK_EQUAL(found[2]->version, 1);
}

BOOST_AUTO_TEST_CASE(readers_that_share_queries_each_get_their_own_rows_and_every_answered_change) {
  constexpr int kReaders = 16;
  constexpr int kRounds = 40;
  std::vector<std::future<int>> readers;
  std::mutex writes;
  for (int i = 0; i < kReaders; ++i)
    readers.push_back(std::async(std::launch::async, [&, i] {
      const std::string key = "v1::d:p" + std::to_string(i);
      int wrong = 0;
      for (int round = 0; round < kRounds; ++round) {
        const std::string name = std::to_string(i) + "-" + std::to_string(round);
        {
          const std::lock_guard lock(writes);
          write({round == 0 ? created(key, queue_json(name)) : updated(key, queue_json(name))});
        }
        if (queue(key) != name) ++wrong;
      }
      return wrong;
    }));
  for (auto& one : readers) BOOST_CHECK_EQUAL(one.get(), 0);
}

BOOST_AUTO_TEST_CASE(a_waiting_read_gives_up_at_its_deadline_and_the_others_go_on) {
  write({created("v1:::", queue_json("top"))});
  BOOST_CHECK_EQUAL(queue("v1:::"), "top");  // connects and prepares
  owner.exec("BEGIN; LOCK TABLE settings");
  auto leader = std::async(std::launch::async, [&] { return queue("v1:::"); });
  BOOST_REQUIRE(wait_until([&] {
    return text(
               "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation ="
               " 'writ.settings'::regclass") == "1";
  }));
  auto waiting = std::async(std::launch::async, [&] { return queue("v1:::"); });
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(50);
  BOOST_CHECK_THROW(reader.fetch({"v1:::"}, deadline), DeadlineExceeded);
  BOOST_CHECK(steady_clock::now() >= deadline);
  owner.exec("COMMIT");
  BOOST_CHECK_EQUAL(leader.get(), "top");
  BOOST_CHECK_EQUAL(waiting.get(), "top");
}

BOOST_AUTO_TEST_CASE(a_read_whose_query_hangs_gives_up_and_who_shares_it_goes_on) {
  write({created("v1:::", queue_json("top"))});
  BOOST_CHECK_EQUAL(queue("v1:::"), "top");
  owner.exec("BEGIN; LOCK TABLE settings");
  const auto begin = steady_clock::now();
  // The checks of Boost.Test are for one thread.
  auto leader = std::async(std::launch::async, [&]() -> std::optional<steady_clock::duration> {
    try {
      reader.fetch({"v1:::"}, begin + std::chrono::milliseconds(600));
    } catch (const DeadlineExceeded&) {
      return steady_clock::now() - begin;
    }
    return std::nullopt;
  });
  BOOST_REQUIRE(wait_until([&] {
    return text(
               "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation ="
               " 'writ.settings'::regclass") == "1";
  }));
  std::vector<std::future<std::string>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(std::async(std::launch::async, [&] { return queue("v1:::"); }));
  const auto gave_up_after = leader.get();
  BOOST_REQUIRE(gave_up_after.has_value());
  BOOST_CHECK(*gave_up_after < std::chrono::seconds(3));
  owner.exec("COMMIT");
  for (auto& one : waiting) BOOST_CHECK_EQUAL(one.get(), "top");
}

BOOST_AUTO_TEST_CASE(a_row_that_cannot_be_read_fails_only_who_asks_for_it) {
  write({created("v1:::", queue_json("top"))});
  write({created("v1::d:", R"({"run":5})")});
  BOOST_CHECK_THROW(queue("v1::d:"), CorruptLog);
  BOOST_CHECK_EQUAL(queue("v1:::"), "top");
}

BOOST_AUTO_TEST_CASE(a_row_that_stays_as_it_is_is_read_once) {
  write({created("v1:::", queue_json("top"))});
  const auto get = [&] { return reader.fetch({"v1:::"}, steady_clock::now() + kLong)[0]; };
  const auto first = get();
  BOOST_CHECK(get() == first);
  write({created("v1::d:", queue_json("beside"))});
  BOOST_CHECK(get() == first);
  write({updated("v1:::", queue_json("top"))});
  const auto again = get();
  BOOST_CHECK(again != first);
  BOOST_CHECK_EQUAL(again->version, 2);
}

BOOST_AUTO_TEST_CASE(a_row_that_became_another_without_a_new_version_is_read_anew) {
  write({created("v1:::", queue_json("top"))});
  BOOST_CHECK_EQUAL(queue("v1:::"), "top");
  owner.exec("UPDATE settings SET data = '" + queue_json("restored") + "'");
  BOOST_CHECK_EQUAL(queue("v1:::"), "restored");
}

BOOST_AUTO_TEST_CASE(no_more_is_kept_than_may_be_and_all_can_still_be_read) {
  constexpr std::size_t kOneRow = 2048;  // and a little
  ParsedRows rows(2 * kOneRow);
  const SettingsRow one{"v1:::", queue_json("one"), 1};
  const SettingsRow other{"v1::d:", queue_json("other"), 1};
  const auto kept = rows.parse(one);
  BOOST_CHECK(rows.parse(one) == kept);
  for (int version = 1; version < 5; ++version)
    rows.parse({"v1::d:", queue_json("other"), version});
  rows.parse({"v1::e:", queue_json("third"), 1});
  rows.parse({"v1::f:", queue_json("fourth"), 1});
  BOOST_CHECK_EQUAL(kept.use_count(), 1);
  BOOST_CHECK_EQUAL(rows.parse(one)->settings.run().default_queue().string_value(), "one");
  const auto heavy = rows.parse({"v1:::", queue_json(std::string(kOneRow, 'x')), 2});
  BOOST_CHECK_EQUAL(heavy.use_count(), 1);
}

BOOST_AUTO_TEST_CASE(a_lost_connection_costs_a_read_nothing) {
  write({created("v1:::", queue_json("top"))});
  BOOST_CHECK_EQUAL(queue("v1:::"), "top");
  owner.exec(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'writ_app'"
      " AND datname = current_database()");
  BOOST_CHECK_EQUAL(queue("v1:::"), "top");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
