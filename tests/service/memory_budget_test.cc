#include "service/memory_budget.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <thread>

#include "tests/support/wait.h"

namespace writ {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Share = MemoryBudget::Share;

MemoryBudget::Clock::time_point in(milliseconds time) { return MemoryBudget::Clock::now() + time; }

BOOST_AUTO_TEST_SUITE(memory_budget)

BOOST_AUTO_TEST_CASE(bodies_on_their_way_in_take_at_most_half) {
  MemoryBudget budget(100);
  Share one;
  Share two;
  BOOST_TEST(budget.grow(one, 30));
  BOOST_TEST(budget.grow(two, 20));
  BOOST_TEST(!budget.grow(one, 31));
  BOOST_TEST(one.bytes() == 30U);
  BOOST_TEST(budget.grow(one, 10), "it has that already");
  BOOST_TEST(one.bytes() == 30U);
  two.shrink(5);
  BOOST_TEST(budget.grow(one, 45));
  BOOST_TEST(budget.used() == 50U);
}

BOOST_AUTO_TEST_CASE(a_share_gives_back_what_it_has_once) {
  MemoryBudget budget(100);
  {
    Share share;
    BOOST_TEST(budget.grow(share, 40));
    Share moved = std::move(share);
    BOOST_TEST(budget.used() == 40U);
    share = std::move(moved);
    BOOST_TEST(budget.used() == 40U);
    moved.shrink(0);
    BOOST_TEST(budget.used() == 40U);
    auto work = budget.wait_for(10, in(seconds(1)));
    BOOST_REQUIRE(work.has_value());
    share = std::move(*work);
    BOOST_TEST(budget.used() == 10U);
  }
  BOOST_TEST(budget.used() == 0U);
}

BOOST_AUTO_TEST_CASE(work_may_take_all_that_is_free_and_half_whatever_comes_in) {
  MemoryBudget budget(100);
  Share incoming;
  BOOST_TEST(budget.grow(incoming, 50));
  auto work = budget.wait_for(1'000'000, in(seconds(1)));
  BOOST_REQUIRE(work.has_value());
  BOOST_TEST(work->bytes() == 50U);
  BOOST_TEST(!budget.wait_for(1, in(milliseconds(20))).has_value());
  incoming.shrink(0);
  BOOST_TEST(budget.wait_for(50, in(milliseconds(0))).has_value());
}

BOOST_AUTO_TEST_CASE(who_waits_is_served_in_turn_and_not_overtaken) {
  MemoryBudget budget(100);
  auto first = budget.wait_for(50, in(seconds(1)));
  auto second = budget.wait_for(40, in(seconds(1)));
  std::atomic<bool> large_done = false;
  auto large = std::async(std::launch::async, [&] {
    auto share = budget.wait_for(50, in(seconds(20)));
    large_done = true;
    return share.has_value();
  });
  // Ten bytes are free, and yet they are not given: somebody waits.
  BOOST_TEST(wait_until([&] { return !budget.wait_for(10, in(milliseconds(0))).has_value(); }));
  BOOST_TEST(!large_done);
  first->shrink(0);
  BOOST_TEST(large.get());
  BOOST_TEST(budget.wait_for(10, in(milliseconds(0))).has_value());
}

BOOST_AUTO_TEST_CASE(who_gives_up_lets_the_next_one_go_on) {
  MemoryBudget budget(100);
  auto held = budget.wait_for(50, in(seconds(1)));
  Share incoming;
  BOOST_TEST(budget.grow(incoming, 40));
  auto large = std::async(std::launch::async,
                          [&] { return budget.wait_for(50, in(seconds(1))).has_value(); });
  BOOST_TEST(wait_until([&] { return !budget.wait_for(10, in(milliseconds(0))).has_value(); }));
  BOOST_TEST(budget.wait_for(10, in(seconds(20))).has_value());
  BOOST_TEST(!large.get());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
