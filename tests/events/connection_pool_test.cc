#include "events/connection_pool.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <future>
#include <set>

#include "tests/support/postgres_proxy.h"
#include "tests/support/test_database.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

steady_clock::time_point soon() { return steady_clock::now() + std::chrono::seconds(10); }

int backend_of(Connection& connection) {
  return connection.exec_prepared("backend")[0][0].as<int>();
}

struct PoolFixture {
  PoolFixture() : database(TestDatabase::empty()), owner(database.owner()) {}
  std::string conninfo() const {
    return with_session_settings(database.conninfo({{"host", proxy.host()}, {"port", "5432"}}));
  }
  TestDatabase database;
  Connection owner;
  PostgresProxy proxy;
  std::atomic<int> prepared = 0;
  ConnectionPool pool{conninfo(), 2, [this](Connection& connection) {
                        ++prepared;
                        connection.prepare("backend", "SELECT pg_backend_pid()");
                      }};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(connection_pool_tests, PoolFixture)

BOOST_AUTO_TEST_CASE(a_returned_connection_is_used_again) {
  BOOST_CHECK_EQUAL(proxy.connections(), 0u);
  const int first = pool.read(soon(), backend_of);
  BOOST_CHECK_EQUAL(pool.read(soon(), backend_of), first);
  BOOST_CHECK_EQUAL(proxy.connections(), 1u);
  BOOST_CHECK_EQUAL(prepared, 1);
}

BOOST_AUTO_TEST_CASE(no_more_than_its_size_are_lent_at_a_time) {
  std::atomic<int> lent = 0, most = 0, done = 0;
  std::vector<std::future<void>> readers;
  for (int i = 0; i < 8; ++i)
    readers.push_back(std::async(std::launch::async, [&] {
      for (int n = 0; n < 20; ++n)
        pool.read(soon(), [&](Connection& connection) {
          const int now = ++lent;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          const int pid = backend_of(connection);
          ++done;
          --lent;
          return pid;
        });
    }));
  for (auto& reader : readers) reader.get();
  BOOST_CHECK_EQUAL(done, 160);
  BOOST_CHECK_LE(most, 2);
  BOOST_CHECK_LE(proxy.connections(), 2u);
}

BOOST_AUTO_TEST_CASE(waiting_for_a_connection_ends_at_the_deadline) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future();
  std::atomic<int> holding = 0;
  std::vector<std::future<int>> holders;
  for (int i = 0; i < 2; ++i)
    holders.push_back(std::async(std::launch::async, [&] {
      return pool.read(soon(), [&](Connection&) {
        ++holding;
        released.wait();
        return 0;
      });
    }));
  BOOST_REQUIRE(wait_until([&] { return holding == 2; }));
  const auto deadline = steady_clock::now() + milliseconds(30);
  BOOST_CHECK_THROW(pool.read(deadline, backend_of), DeadlineExceeded);
  BOOST_CHECK(steady_clock::now() >= deadline);
  BOOST_CHECK_THROW(pool.read(steady_clock::now() - milliseconds(1), backend_of), DeadlineExceeded);
  release.set_value();
  for (auto& holder : holders) holder.get();
  BOOST_CHECK_GT(pool.read(soon(), backend_of), 0);
}

BOOST_AUTO_TEST_CASE(a_dead_connection_is_replaced_unseen) {
  const int first = pool.read(soon(), backend_of);
  owner.exec("SELECT pg_terminate_backend(" + std::to_string(first) + ", 5000)");
  const int second = pool.read(soon(), backend_of);
  BOOST_CHECK_NE(first, second);
  BOOST_CHECK_EQUAL(pool.read(soon(), backend_of), second);
  BOOST_CHECK_EQUAL(prepared, 2);
}

BOOST_AUTO_TEST_CASE(a_connection_lost_while_in_use_is_replaced_and_the_read_done_again) {
  int calls = 0;
  const int backend = pool.read(soon(), [&](Connection& connection) {
    if (++calls == 1) proxy.arm({{PostgresProxy::Cut::When::kBeforeClient, "", 1, false}});
    return backend_of(connection);
  });
  BOOST_CHECK_EQUAL(calls, 2);
  BOOST_CHECK_EQUAL(pool.read(soon(), backend_of), backend);
}

BOOST_AUTO_TEST_CASE(a_database_that_is_away_costs_no_place_in_the_pool) {
  pool.read(soon(), backend_of);
  proxy.refuse(true);
  owner.exec(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = "
      "current_database()"
      " AND pid <> pg_backend_pid()");
  for (int i = 0; i < 5; ++i) BOOST_CHECK_THROW(pool.read(soon(), backend_of), StorageUnavailable);
  proxy.refuse(false);
  // Both places are still there.
  const std::set<int> backends = pool.read(soon(), [&](Connection& one) {
    return pool.read(soon(), [&](Connection& two) {
      return std::set{backend_of(one), backend_of(two)};
    });
  });
  BOOST_CHECK_EQUAL(backends.size(), 2u);
}

BOOST_AUTO_TEST_CASE(a_refused_statement_is_not_tried_again_and_the_connection_kept) {
  const int first = pool.read(soon(), backend_of);
  int calls = 0;
  BOOST_CHECK_THROW(pool.read(soon(),
                              [&](Connection& connection) {
                                ++calls;
                                return connection.exec("SELECT 1 / 0");
                              }),
                    StorageError);
  BOOST_CHECK_EQUAL(calls, 1);
  BOOST_CHECK_EQUAL(pool.read(soon(), backend_of), first);
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_reader_gives_the_connection_back) {
  for (int i = 0; i < 5; ++i)
    BOOST_CHECK_THROW(pool.read(soon(), [](Connection&) -> int { throw std::logic_error("no"); }),
                      std::logic_error);
  BOOST_CHECK_GT(pool.read(soon(), backend_of), 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
