#include "projections/rebuild.h"

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <future>
#include <random>

#include "projections/read_models.h"
#include "projections/settings.h"
#include "tests/projections/settings_log.h"
#include "tests/support/wait.h"

namespace writ {
namespace {

std::uint64_t seed() {
  if (const char* text = std::getenv("WRIT_SEED")) return std::stoull(text);
  return std::random_device{}();
}

struct RebuildFixture : SettingsLog {
  RebuildResult rebuild_settings(
      const WorkProgress& progress = [](std::int64_t, std::int64_t) {},
      const RebuildPace& pace = {}) {
    return rebuild(database.app(), settings_model(), progress, pace);
  }

  /// Ends the backend of the rebuild that is running.
  void kill_rebuild() {
    owner.exec(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND"
        " database = (SELECT oid FROM pg_database WHERE datname = current_database())");
  }

  /// Everything about the tables of the schema that a switch must leave as it was.
  std::string tables() {
    std::string all;
    for (const char* sql : {
             "SELECT c.oid::regclass, relkind, relowner::regrole, relacl::text, reloptions::text,"
             " relpersistence FROM pg_class c WHERE relnamespace = 'writ'::regnamespace ORDER BY"
             " relname",
             "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM "
             "pg_constraint"
             " WHERE connamespace = 'writ'::regnamespace ORDER BY 1, 2",
             "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid::regclass::text !~"
             " 'pg_' ORDER BY 1",
             "SELECT attrelid::regclass::text, attname, attnotnull, attcollation, attstorage,"
             " array(SELECT o FROM unnest(attoptions) o WHERE o ~ '^n_distinct') FROM pg_attribute "
             "JOIN pg_class c ON c.oid = attrelid WHERE "
             "relnamespace ="
             " 'writ'::regnamespace AND attnum > 0 ORDER BY 1, attnum",
             "SELECT relname FROM pg_class WHERE relnamespace = 'writ_build'::regnamespace",
             "SELECT * FROM builds",
         })
      all += lines(sql);
    return all;
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
  write_many("v1::d:", 98);
  for (const char* key : {"v1:::", "v1::e:", "v1::a:", "v1::a:p", "v1::f:"}) write_many(key, 3);
  write_many("v1::d:", 3);
  std::vector<std::int64_t> told;
  const RebuildResult result = rebuild_settings(
      [&](std::int64_t done, std::int64_t head) {
        BOOST_CHECK_EQUAL(head, 116);
        told.push_back(done);
      },
      {.streams = 2});
  BOOST_CHECK_EQUAL(result.events, 116);
  BOOST_CHECK_EQUAL(result.rows, 6);
  // By name: the instance and a, a's project and d, e and f, and nothing.
  const std::vector<std::int64_t> expected = {6, 110, 116, 116};
  BOOST_CHECK_EQUAL_COLLECTIONS(told.begin(), told.end(), expected.begin(), expected.end());
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
  BOOST_CHECK_THROW(
      rebuild_settings([](std::int64_t, std::int64_t) { throw std::runtime_error("stop"); },
                       {.streams = 1}),
      std::runtime_error);
  BOOST_CHECK_EQUAL(rows(), before);
  BOOST_CHECK_THROW(rebuild_settings([&](std::int64_t, std::int64_t) { kill_rebuild(); }),
                    StorageUnavailable);
  BOOST_CHECK_EQUAL(rows(), before);
  write({updated("v1::d:", R"({"n":2})")});  // no lock was left behind
  rebuild_settings();
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(a_rebuild_killed_anywhere_is_gone_on_with_by_the_next) {
  for (int i = 0; i < 7; ++i) write({created("v1::d" + std::to_string(i) + ":", "{}")});
  const std::string before = tables();
  int step = 0;
  for (bool through = false; !through; ++step) {
    BOOST_TEST_CONTEXT("killed at step " << step) {
      owner.exec("UPDATE settings SET data = '\"damaged\"'; DELETE FROM settings WHERE id = 3");
      const std::string damaged = rows();
      int left = step;
      std::vector<std::int64_t> told;
      try {
        rebuild_settings(
            [&](std::int64_t done, std::int64_t) {
              told.push_back(done);
              if (left-- == 0) kill_rebuild();
            },
            {.streams = 2, .events = 1});
        through = true;
      } catch (const StorageUnavailable&) {
        BOOST_CHECK_EQUAL(rows(), damaged);
        write({updated("v1::d0:", R"({"step":)" + std::to_string(step) + "}")});
        const std::int64_t reached = told.back();
        told.clear();
        rebuild_settings([&](std::int64_t done, std::int64_t) { told.push_back(done); },
                         {.streams = 2, .events = 1});
        BOOST_CHECK(told.empty() || told.front() >= reached);
      }
      BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
      BOOST_CHECK_EQUAL(tables(), before);
    }
  }
  BOOST_CHECK_GE(step, 5);
}

BOOST_AUTO_TEST_CASE(what_an_older_fold_left_half_built_is_not_gone_on_with) {
  for (int i = 0; i < 4; ++i) write({created("v1::d" + std::to_string(i) + ":", "{}")});
  BOOST_CHECK_THROW(
      rebuild_settings([](std::int64_t, std::int64_t) { throw std::runtime_error("stop"); },
                       {.streams = 2}),
      std::runtime_error);
  owner.exec("UPDATE builds SET version = version - 1; UPDATE writ_build.settings SET data = '7'");
  rebuild_settings();
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(the_new_table_is_made_as_the_old_one_was) {
  write({created("v1:::", R"({"n":1})")});
  owner.exec("GRANT SELECT ON settings TO PUBLIC");
  const std::string before = tables();
  rebuild_settings();
  rebuild_changed_paths(database.app(), [](std::int64_t, std::int64_t) {});
  BOOST_CHECK_EQUAL(tables(), before);
}

BOOST_AUTO_TEST_CASE(writers_go_on_and_what_they_write_is_in_the_new_table) {
  for (const char* key : {"v1:::", "v1::a:", "v1::b:"}) write({created(key, R"({"n":1})")});
  owner.exec("UPDATE settings SET data = '\"as it was\"' WHERE key = 'v1::b:'");
  Connection reader(database.app());
  prepare_settings_queries(reader);
  int n = 1;
  rebuild_settings(
      [&](std::int64_t, std::int64_t) {
        const std::string payload = R"({"n": )" + std::to_string(++n) + "}";
        write({updated("v1::a:", payload)});
        // Readers see the old table, with the new change.
        for (const SettingsRow& row : fetch_settings(reader, {"v1::a:", "v1::b:"}))
          BOOST_CHECK_EQUAL(row.data, row.key == "v1::a:" ? payload : "\"as it was\"");
      },
      {.streams = 1});
  BOOST_CHECK_GT(n, 3);
  const auto found = fetch_settings(reader, {"v1::b:"});  // prepared before the switch
  BOOST_REQUIRE_EQUAL(found.size(), 1u);
  BOOST_CHECK_EQUAL(found[0].data, R"({"n": 1})");
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
  write({updated("v1::a:", R"({"n":0})")});
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(under_load_no_reader_ever_misses_a_row_or_sees_an_old_one) {
  constexpr int kKeys = 40;
  for (int i = 0; i < kKeys; ++i) write({created("v1::d" + std::to_string(i) + ":", R"({"n":1})")});
  std::array<std::atomic<int>, kKeys> answered;  // versions that their writer was told of
  for (auto& version : answered) version = 1;
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, reads = 0, writes = 0;
  std::vector<std::future<void>> load;
  for (int w = 0; w < 3; ++w)
    load.push_back(std::async(std::launch::async, [&, w] {
      for (int i = w; !stop; i = (i + 3) % kKeys) {
        if (i % 3 != w) continue;  // one writer a key
        const int next = answered[i] + 1;
        write(
            {updated("v1::d" + std::to_string(i) + ":", R"({"n":)" + std::to_string(next) + "}")});
        answered[i] = next;
        ++writes;
      }
    }));
  for (int r = 0; r < 3; ++r)
    load.push_back(std::async(std::launch::async, [&, r] {
      Connection connection(database.app());
      prepare_settings_queries(connection);
      for (int i = r; !stop; i = (i + 1) % kKeys) {
        const int at_least = answered[i];
        const auto found = fetch_settings(connection, {"v1::d" + std::to_string(i) + ":"});
        if (found.size() != 1 || found[0].version < at_least ||
            found[0].data != R"({"n": )" + std::to_string(found[0].version) + "}")
          ++wrong;
        ++reads;
      }
    }));
  for (int i = 0; i < 15; ++i) rebuild_settings([](auto, auto) {}, {.streams = 7, .events = 500});
  stop = true;
  for (auto& one : load) one.get();
  BOOST_CHECK_EQUAL(wrong, 0);
  BOOST_CHECK_GT(reads, 100);
  BOOST_CHECK_GT(writes, 100);
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(a_reader_that_stays_delays_the_switch_and_nobody_else) {
  write({created("v1:::", R"({"n":1})")});
  Connection stays(database.app());
  stays.exec("BEGIN; SELECT * FROM settings");
  BOOST_CHECK_EXCEPTION(rebuild_settings([](auto, auto) {}, {.patience = std::chrono::seconds(0)}),
                        StorageUnavailable, [](const std::exception& e) {
                          return std::string(e.what()).find("in use") != std::string::npos;
                        });
  auto rebuilding = std::async(std::launch::async, [&] { return rebuild_settings(); });
  for (int n = 2; n < 20; ++n) write({updated("v1:::", R"({"n":)" + std::to_string(n) + "}")});
  BOOST_CHECK(rebuilding.wait_for(std::chrono::milliseconds(0)) == std::future_status::timeout);
  stays.exec("COMMIT");
  BOOST_CHECK_EQUAL(rebuilding.get().events, 19);
  BOOST_CHECK_EQUAL(rows(), rows_by_the_log());
}

BOOST_AUTO_TEST_CASE(two_rebuilds_at_once_are_one_too_many) {
  write({created("v1:::", R"({"n":1})")});
  rebuild_settings([&](auto, auto) { BOOST_CHECK_THROW(rebuild_settings(), StorageUnavailable); });
}

BOOST_AUTO_TEST_CASE(a_projection_that_is_not_registered_is_an_error) {
  write({created("v1:::", "{}")});
  const std::string before = rows();
  FoldedModel unknown = settings_model();
  unknown.projection.name = "nobody";
  BOOST_CHECK_THROW(rebuild(database.app(), unknown, [](auto, auto) {}), CorruptLog);
  BOOST_CHECK_EQUAL(rows(), before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
