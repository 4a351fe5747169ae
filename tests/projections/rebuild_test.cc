#include "projections/rebuild.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <future>
#include <random>

#include "projections/settings.h"
#include "tests/projections/settings_log.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

using Progress = std::function<void(std::int64_t, std::int64_t)>;

std::uint64_t seed() {
  if (const char* text = std::getenv("WRIT_SEED")) return std::stoull(text);
  return std::random_device{}();
}

struct RebuildFixture : SettingsLog {
  RebuildResult rebuild_settings(const Progress& progress = [](std::int64_t, std::int64_t) {}) {
    return rebuild(database.app(), settings_projection(), "settings",
                   std::string(kSettingsStreamPrefix), {kSettingsCreated, kSettingsUpdated},
                   progress);
  }

  std::string position() {
    return text("SELECT position FROM projections WHERE name = 'settings'");
  }

  /// Appends `count` updates of one record as a migration tool would, without the sequencer.
  void write_many(const std::string& key, int count) {
    owner.exec(
        "INSERT INTO events SELECT h.position + n, 'settings/" + key +
        "', coalesce(v.version, 0) + n, CASE WHEN coalesce(v.version, 0) + n = 1 THEN"
        " 'settings.created' ELSE 'settings.updated' END, clock_timestamp() + n * interval '1 us',"
        " 'tester', '', '', gen_random_uuid(), '{\"n\":' || n || '}', '\\x00', '', '\\x00'"
        " FROM log_head h, (SELECT max(version) AS version FROM events WHERE stream = 'settings/" +
        key + "') v, generate_series(1, " + std::to_string(count) +
        ") n; UPDATE log_head SET (position, tree_size) ="
        " (SELECT max(position), max(position) FROM events)");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(rebuild_tests, RebuildFixture)

BOOST_AUTO_TEST_CASE(a_rebuild_of_an_empty_log_is_empty) {
  const RebuildResult result = rebuild_settings();
  BOOST_CHECK_EQUAL(result.events, 0);
  BOOST_CHECK_EQUAL(result.rows, 0);
}

BOOST_AUTO_TEST_CASE(a_rebuild_gives_the_rows_back_whatever_became_of_them) {
  write({created("v1:::", R"({"n":1})"), created("v1::d:", "{}"), updated("v1:::", R"({"n":2})")});
  write({updated("v1::d:", R"({"n":3})"), {{"other/x"}, "other.created", "not JSON", {}}});
  const std::string before = rows();
  for (const char* damage : {
           "SELECT 1",
           "DELETE FROM settings",
           "DELETE FROM settings WHERE key = 'v1:::'",
           "UPDATE settings SET data = '{}', version = 77, id = id + 100, updated_at = 'epoch'",
           "INSERT INTO settings SELECT 99, 'v1::nobody:', data, 1, created_at, updated_at FROM"
           " settings LIMIT 1",
           "UPDATE projections SET position = 0, version = 0",
       }) {
    BOOST_TEST_CONTEXT(damage) {
      owner.exec(damage);
      const RebuildResult result = rebuild_settings();
      BOOST_CHECK_EQUAL(result.events, 5);
      BOOST_CHECK_EQUAL(result.rows, 2);
      BOOST_CHECK_EQUAL(rows(), before);
      BOOST_CHECK_EQUAL(position(), "5");
      BOOST_CHECK_EQUAL(text("SELECT version FROM projections WHERE name = 'settings'"),
                        std::to_string(settings_projection().version));
    }
  }
  write({updated("v1:::", R"({"n":4})")});
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(a_rebuild_after_a_random_history_gives_the_same_text) {
  const std::uint64_t chosen = seed();
  BOOST_TEST_MESSAGE("WRIT_SEED=" << chosen);
  std::mt19937_64 engine(chosen);
  const auto upto = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine); };
  const char* const payloads[] = {"{}",
                                  R"({"b":1,"a":2})",
                                  R"({ "a" : [ 1 , 2 ] })",
                                  R"({"n":1e2,"m":1.50,"z":-0})",
                                  R"({"a":1,"a":2})",
                                  R"({"t":"\u00e9\"\\ é🚀"})",
                                  R"({"big":123456789012345678901234567890})",
                                  "null",
                                  "[]"};
  std::map<std::string, int> versions;
  BOOST_TEST_CONTEXT("WRIT_SEED=" << chosen) {
    for (int i = 0; i < 80; ++i) {
      std::vector<NewEvent> events;
      for (int n = 1 + upto(6); n > 0; --n) {
        const std::string key = "v1::d" + std::to_string(upto(8)) + ":";
        const std::string payload = payloads[upto(static_cast<int>(std::size(payloads)))];
        events.push_back(versions[key]++ == 0 ? created(key, payload) : updated(key, payload));
      }
      write(std::move(events));
    }
    const std::string live = rows();
    BOOST_CHECK_EQUAL(live, rows_by_the_log());
    owner.exec("DELETE FROM settings");
    rebuild_settings();
    BOOST_CHECK_EQUAL(rows(), live);
  }
}

BOOST_AUTO_TEST_CASE(a_long_log_is_folded_in_parts) {
  write_many("v1::d:", 9'998);
  write_many("v1:::", 10'001);
  write_many("v1::d:", 3);
  std::vector<std::int64_t> told;
  const RebuildResult result = rebuild_settings([&](std::int64_t done, std::int64_t head) {
    BOOST_CHECK_EQUAL(head, 20'002);
    told.push_back(done);
  });
  BOOST_CHECK_EQUAL(result.events, 20'002);
  BOOST_CHECK_EQUAL(result.rows, 2);
  const std::vector<std::int64_t> expected = {10'000, 20'000, 20'002};
  BOOST_CHECK_EQUAL_COLLECTIONS(told.begin(), told.end(), expected.begin(), expected.end());
  BOOST_CHECK_EQUAL(text("SELECT id FROM settings WHERE key = 'v1:::'"), "9999");
  BOOST_CHECK_EQUAL(text("SELECT version FROM settings WHERE key = 'v1::d:'"), "10001");
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(erased_events_that_were_superseded_are_no_obstacle) {
  write_many("v1::d:", 10'000);  // the last one ends a part
  write_many("v1::d:", 1);
  owner.exec("UPDATE events SET payload = NULL, payload_salt = NULL WHERE position <= 10000");
  rebuild_settings();
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
  BOOST_CHECK_EQUAL(text("SELECT id || ' ' || version || ' ' || data FROM settings"),
                    R"(1 10001 {"n": 1})");
}

BOOST_AUTO_TEST_CASE(an_unknown_event_type_stops_the_rebuild_and_changes_nothing) {
  write({created("v1:::", R"({"n":1})")});
  write({{{"other/x"}, "other.created", "{}", {}}});
  write({{{"settings/v1:::"}, "settings.renamed", R"({"n":2})", {}}});
  write({{{"settings/v1:::"}, "settings.another", R"({"n":3})", {}}});
  owner.exec("UPDATE settings SET data = '\"as it was\"'");
  const std::string before = rows();
  BOOST_CHECK_EXCEPTION(rebuild_settings(), CorruptLog, [](const CorruptLog& e) {
    const std::string what = e.what();
    return what.find("position 3") != std::string::npos &&
           what.find("\"settings.renamed\"") != std::string::npos &&
           what.find('\n') == std::string::npos;
  });
  BOOST_CHECK_EQUAL(rows(), before);
  BOOST_CHECK_EQUAL(position(), "4");
}

BOOST_AUTO_TEST_CASE(an_interrupted_rebuild_changes_nothing) {
  write({created("v1:::", R"({"n":1})"), created("v1::d:", "{}")});
  owner.exec("UPDATE settings SET data = '\"as it was\"'");
  const std::string before = rows();
  const auto terminate = [&](std::int64_t, std::int64_t) {
    owner.exec(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname ="
        " current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()");
  };
  BOOST_CHECK_THROW(rebuild_settings(terminate), StorageUnavailable);
  BOOST_CHECK_EQUAL(rows(), before);
  BOOST_CHECK_THROW(
      rebuild_settings([](std::int64_t, std::int64_t) { throw std::runtime_error("stop"); }),
      std::runtime_error);
  BOOST_CHECK_EQUAL(rows(), before);
  write({updated("v1::d:", R"({"n":2})")});  // no lock was left behind
  rebuild_settings();
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(during_a_rebuild_readers_see_the_old_rows_and_writers_wait) {
  write({created("v1:::", R"({"n":1})")});
  owner.exec("UPDATE settings SET data = '\"as it was\"'");
  const std::string before = rows();
  std::future<Accepted> writer;
  rebuild_settings([&](std::int64_t, std::int64_t) {
    BOOST_CHECK_EQUAL(rows(), before);
    writer =
        std::async(std::launch::async, [&] { return write({updated("v1:::", R"({"n":2})")}); });
    BOOST_CHECK(wait_until([&] {
      return text(
                 "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND"
                 " wait_event_type = 'Lock'") == "1";
    }));
  });
  BOOST_CHECK_EQUAL(writer.get().events.at(0).position.value, 2);
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
  BOOST_CHECK_EQUAL(position(), "2");
}

BOOST_AUTO_TEST_CASE(a_projection_that_is_not_registered_is_an_error) {
  write({created("v1:::", "{}")});
  const std::string before = rows();
  InlineProjection unknown = settings_projection();
  unknown.name = "nobody";
  BOOST_CHECK_THROW(rebuild(database.app(), unknown, "settings", "settings/", {kSettingsCreated},
                            [](std::int64_t, std::int64_t) {}),
                    CorruptLog);
  BOOST_CHECK_EQUAL(rows(), before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
