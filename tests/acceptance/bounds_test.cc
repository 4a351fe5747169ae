#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>

#include "events/connection.h"
#include "tests/acceptance/api_client.h"
#include "tests/acceptance/binary_messages.h"
#include "tests/acceptance/in_parallel.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

constexpr int kWriters = 90;  // of large settings: more than the queue's 64 MiB hold

}  // namespace

BOOST_AUTO_TEST_SUITE(more_writes_than_may_wait)

BOOST_AUTO_TEST_CASE(are_turned_away_and_the_others_recorded) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient reader(writ.port());
  BOOST_TEST(reader.get("/healthz").status == 200);
  Connection holder(database.conninfo());  // without the session's time-outs
  holder.exec("BEGIN; SELECT FROM writ.log_head FOR UPDATE");
  const auto& type = *settings_method("CreateSettings").input_type();
  const std::string settings = to_binary(type, Json::object({{"settings", large_settings()}}));
  std::atomic<int> accepted = 0, refused = 0, unknown = 0;
  auto load = std::async(std::launch::async, [&] {
    in_parallel(kWriters, [&](int i) {
      ApiClient client(writ.port());
      // Two messages, one behind the other, are one with the fields of both.
      const Json key = Json::object({{"key", key_json("d" + std::to_string(i))}});
      const auto answer = client.call_binary("CreateSettings", to_binary(type, key) + settings);
      if (answer.status == 200) {
        ++accepted;
      } else if (answer.code() == "resource_exhausted") {
        require(answer.status == 429, "the status is " + std::to_string(answer.status));
        ++refused;
      } else {
        // A slow machine: the head was held for longer than a write waits.
        require(answer.code() == "unavailable" || answer.code() == "deadline_exceeded",
                answer.body);
        ++unknown;
      }
    });
  });
  // Sanitized, the service may read more slowly than the first writes give up.
  const std::chrono::seconds patience(kUnsanitized ? 60 : 8);
  const bool filled = wait_until([&] { return refused > 0; }, patience);
  BOOST_TEST((filled || !kUnsanitized));
  // Reads have no part in it.
  const auto read = reader.call("GetSettings", Json::object({{"key", key_json("d0")}}));
  BOOST_TEST(read.status == 200);
  holder.exec("COMMIT");
  load.get();
  BOOST_TEST_MESSAGE(accepted << " accepted, " << refused << " turned away");
  BOOST_TEST(accepted + unknown >= 60);
  BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") ==
             std::to_string(accepted));
  BOOST_TEST(broken_invariants(database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
  // And it serves on.
  const auto more =
      reader.call("CreateSettings", create_json(key_json("after"), queue_settings("q")));
  BOOST_TEST(more.version() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
