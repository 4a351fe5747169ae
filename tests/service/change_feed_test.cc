#include "service/change_feed.h"

#include <boost/test/unit_test.hpp>

#include <future>

#include "events/history.h"
#include "schema/protojson.h"
#include "tests/projections/settings_log.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

using audit::v1::WatchChangesResponse;
using Clock = ChangeFeed::Clock;

constexpr int kWatchers = 32;
constexpr std::size_t kChanges = 200;
constexpr std::chrono::minutes kPatience{1};

/// A change as one watcher got it, and where its bytes are.
struct Got {
  std::shared_ptr<const FedChange> change;
  const char* json;
  const char* proto;
  bool operator==(const Got&) const = default;
};

/// A log of one record, and its feed.
struct Feeding {
  /// Writes until the feed tells of it: from `begin` on it has everything.
  Feeding() {
    BOOST_REQUIRE(wait_until(
        [&] {
          write();
          const Position before{begin.value - 1};
          const auto news = feed.wait_after(before, Clock::now() + std::chrono::milliseconds(100));
          return !news.behind && !news.changes.empty();
        },
        kPatience));
  }

  void write() {
    const std::string settings =
        R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":"q)" +
        std::to_string(begin.value) + "\"}}}";
    begin =
        log.write({begin.value == 0 ? created("v1::d:", settings) : updated("v1::d:", settings)})
            .events.back()
            .position;
  }

  SettingsLog log;
  const LogFollower follower{log.database.app()};
  ChangeFeed feed{log.database.app(), follower};
  const ChangeFeed::Watcher watcher{feed};
  Position begin;
};

/// Watches until it has got all changes. Asks for the bytes at once, as a stream does.
std::vector<Got> watch(ChangeFeed& feed, Position after) {
  const ChangeFeed::Watcher watcher(feed);
  std::vector<Got> got;
  const auto patience = Clock::now() + kPatience;
  while (got.size() < kChanges && Clock::now() < patience) {
    const ChangeFeed::News news = feed.wait_after(after, patience);
    if (news.behind) break;
    for (const auto& one : news.changes)
      got.push_back({one, one->response.as_json().data(), one->response.as_proto().data()});
    after = news.up_to;
  }
  return got;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_feed_of_changes)

BOOST_AUTO_TEST_CASE(gives_all_who_watch_the_very_same_changes_and_the_very_same_bytes) {
  Feeding feeding;
  const Position after = feeding.begin;
  std::vector<std::future<std::vector<Got>>> watching;
  for (int i = 0; i < kWatchers; ++i)
    watching.push_back(std::async(std::launch::async, [&] { return watch(feeding.feed, after); }));
  for (std::size_t i = 0; i < kChanges; ++i) feeding.write();
  std::vector<std::vector<Got>> all;
  for (auto& one : watching) all.push_back(one.get());
  // And somebody who comes later.
  all.push_back(watch(feeding.feed, after));
  BOOST_REQUIRE_EQUAL(all.front().size(), kChanges);
  for (const std::vector<Got>& got : all) BOOST_TEST((got == all.front()));
  for (std::size_t i = 0; i < kChanges; ++i) {
    const FedChange& change = *all.front()[i].change;
    WatchChangesResponse expected, proto;
    *expected.mutable_change() = change.change;
    expected.set_position(static_cast<std::uint64_t>(after.value) + i + 1);
    BOOST_TEST(change.change.position() == expected.position());
    BOOST_TEST(change.response.as_json() == write_json(expected));
    BOOST_REQUIRE(proto.ParseFromString(change.response.as_proto()));
    BOOST_TEST(write_json(proto) == write_json(expected));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
