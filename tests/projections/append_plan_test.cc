#include <boost/test/unit_test.hpp>

#include "tests/projections/settings_log.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

constexpr int kRecords = 1000;
constexpr int kFillings = 20;
constexpr int kWrites = 20;

struct PlanFixture : SettingsLog {
  /// A sequencer's life; counted when its backend has ended, which is when it tells what it did.
  template <typename Act>
  std::int64_t blocks_of(Act act) {
    const std::int64_t before = blocks();
    const std::int64_t backends = count_backends();
    {
      const auto other = another_sequencer();
      act(*other);
    }
    BOOST_REQUIRE(wait_until([&] { return count_backends() == backends; }));
    return blocks() - before;
  }

  std::int64_t count_backends() {
    return number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()");
  }

  std::int64_t blocks() {
    owner.exec("SELECT pg_stat_clear_snapshot()");
    return number(
        "SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))"
        "::bigint FROM pg_statio_user_tables");
  }

  std::int64_t number(const std::string& sql) { return std::stoll(text(sql)); }
};

std::vector<NewEvent> one_of_each_record() {
  std::vector<NewEvent> events;
  for (int i = 0; i < kRecords; ++i)
    events.push_back(updated("v1::d" + std::to_string(i % 20) + ":p" + std::to_string(i), "{}"));
  return events;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(an_append_to_a_long_log, PlanFixture)

BOOST_AUTO_TEST_CASE(touches_few_blocks_whether_alone_or_one_of_many) {
  blocks_of([](Sequencer& other) {
    for (int i = 0; i < kFillings; ++i) SettingsLog::write(other, one_of_each_record());
  });
  const std::int64_t alone = blocks_of([](Sequencer& other) {
    for (int i = 0; i < kWrites; ++i) SettingsLog::write(other, {updated("v1::d7:p7", "{}")});
  });
  BOOST_TEST(alone / kWrites < 100);
  const std::int64_t two = blocks_of([](Sequencer& other) {
    for (int i = 0; i < kWrites; ++i)
      SettingsLog::write(other, {updated("v1::d7:p7", "{}"), updated("v1::d8:p8", "{}")});
  });
  BOOST_TEST(two / kWrites < 200);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
