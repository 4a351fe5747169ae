#include <boost/test/unit_test.hpp>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/watching.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

/// The feed holds about eight such changes, a watch that hardly moves as many; the sockets between
/// take a few. Of these each is in memory with what was before, and encoded.
constexpr long kChanges = 60;
/// One of so many is read as they come: it moves, or after half a minute it would be cut as dead.
constexpr long kRead = 5;
constexpr long kMostKib = 300 * 1024;

/// All of it another than that of the version before.
Json settings_of(long version) { return large_settings(static_cast<char>('a' + version % 26)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(a_watcher_that_hardly_reads)

BOOST_AUTO_TEST_CASE(is_cut_and_told_where_to_resume_while_a_good_one_sees_everything) {
  const TestDatabase database;
  WritProcess writ(database);
  Watch slow(writ.port(), 0), good(writ.port(), 0);
  BOOST_REQUIRE(slow.begins());
  BOOST_REQUIRE(good.begins());
  slow.pause();
  ApiClient client(writ.port());
  const long before = writ.memory_kib("VmRSS");
  for (long version = 1; version <= kChanges; ++version) {
    const HttpAnswer answer =
        version == 1
            ? client.call("CreateSettings", create_json(key_json("d"), settings_of(version)))
            : client.call("UpdateSettings",
                          update_json(key_json("d"), settings_of(version), version - 1));
    BOOST_REQUIRE_MESSAGE(answer.status == 200, answer.body);
    if (version % kRead == 0) slow.take_one();
  }
  BOOST_TEST(good.until([](const Watched& told) { return told.resume == kChanges; }));
  const long grown = writ.memory_kib("VmHWM") - before;
  BOOST_TEST_MESSAGE("the service has grown by " << grown / 1024 << " MiB");
  if (kUnsanitized) BOOST_TEST(grown < kMostKib);

  slow.go_on();
  const Watched cut = slow.end();
  BOOST_TEST(cut.code == "resource_exhausted");
  BOOST_TEST(cut.message == "changes come faster than they are read; resume after position " +
                                std::to_string(cut.resume));
  BOOST_TEST(cut.resume > 0);
  BOOST_TEST(cut.resume < kChanges);
  Watch again(writ.port(), cut.resume);
  BOOST_TEST(again.until([](const Watched& told) { return told.resume == kChanges; }));
  std::vector<long> all, seen = cut.positions;
  for (long position = 1; position <= kChanges; ++position) all.push_back(position);
  for (const long position : again.stop().positions) seen.push_back(position);
  BOOST_TEST(seen == all, boost::test_tools::per_element());
  BOOST_TEST(good.stop().positions == all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
