#include "projections/verify.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <future>
#include <utility>
#include <variant>

#include "events/errors.h"
#include "events/tiles.h"
#include "projections/row_check.h"
#include "tests/projections/settings_log.h"

namespace writ {
namespace {

struct VerifyFixture : SettingsLog {
  VerifyFixture() {
    write({created("v1:::", R"({"n":1})"), created("v1::d:", "{}")});
    write({updated("v1:::", R"({"n":2})")});
    write({{{"other/x"}, "other.created", "not JSON", {{"why", "\"quoted\"\n"}, {"a", ""}}}});
    write({updated("v1::d:", R"({"n":3})"), updated("v1:::", R"({"n":4})")});
  }

  /// Events of some streams, one of each after the other.
  void write_many(int count) {
    constexpr int kStreams = 200;
    for (; count > 0; count -= kStreams) {
      std::vector<NewEvent> many;
      for (int n = 0; n < std::min(count, kStreams); ++n)
        many.push_back({{"other/" + std::to_string(n)}, "other.moved", "{}", {}});
      write(std::move(many));
    }
  }

  void erase_one(std::int64_t position) {
    BOOST_REQUIRE(std::holds_alternative<Accepted>(erase(position)));
  }

  VerifyResult verify_all(const std::optional<VerifiedBefore>& before = {}) {
    return verify(database.app(), before, [](auto...) {});
  }

  /// What is wrong, "" when nothing is.
  std::string finding(const std::optional<VerifiedBefore>& before = {}) {
    try {
      verify_all(before);
      return "";
    } catch (const CorruptLog& e) {
      return e.what();
    }
  }

  VerifiedBefore checkpoint() {
    const TreeHead head = read_tree_head(owner);
    return {head.size, head.root};
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(verify_tests, VerifyFixture)

BOOST_AUTO_TEST_CASE(a_log_as_it_was_written_is_right) {
  BOOST_REQUIRE_EQUAL(finding(), "");
  const VerifyResult result = verify_all();
  BOOST_CHECK_EQUAL(result.position.value, 6);
  BOOST_CHECK_EQUAL(result.rows, 2);
  BOOST_CHECK(result.root == read_tree_head(owner).root);
}

BOOST_AUTO_TEST_CASE(an_empty_log_is_right) {
  const TestDatabase empty;
  const VerifyResult result = verify(empty.app(), std::nullopt, [](auto...) {});
  BOOST_CHECK_EQUAL(result.position.value, 0);
}

BOOST_AUTO_TEST_CASE(whatever_is_changed_is_found_and_named) {
  struct Row {
    const char* damage;
    const char* finding;  // part of it
  };
  for (const Row& row : {
           Row{"DELETE FROM events WHERE position = 3", "position 3: the event"},
           Row{"DELETE FROM events WHERE position = 6", "position 6: the event is missing"},
           Row{"UPDATE events SET version = 9 WHERE position = 3",
               "position 3: the column version"},
           Row{"UPDATE events SET actor = 'eve' WHERE position = 2",
               "position 2: the column actor"},
           Row{"UPDATE events SET reason = 'x' WHERE position = 2",
               "position 2: the column reason"},
           Row{"UPDATE events SET request_id = 'x' WHERE position = 2",
               "position 2: the column request_id"},
           Row{"UPDATE events SET type = 'settings.updated' WHERE position = 1",
               "position 1: the column type"},
           Row{"UPDATE events SET command_id = gen_random_uuid() WHERE position = 4",
               "position 4: the column command_id"},
           Row{"UPDATE events SET recorded_at = recorded_at + interval '1 us' WHERE position = 4",
               "position 4: the column recorded_at"},
           Row{"UPDATE events SET stream = 'other/y' WHERE position = 4",
               "position 4: the column stream"},
           Row{"UPDATE events SET leaf_hash = sha256('x') WHERE position = 4",
               "position 4: the column leaf_hash"},
           Row{"UPDATE events SET payload = payload || ' ' WHERE position = 5",
               "position 5: the payload is not the one"},
           Row{"UPDATE events SET payload_salt = '\\x00' WHERE position = 5",
               "position 5: the payload is not the one"},
           Row{"UPDATE events SET payload = NULL, payload_salt = NULL WHERE position = 3",
               "position 3: the payload is missing, and no event"},
           Row{"UPDATE events SET envelope = replace(envelope, 'tester', 'eve') WHERE position = 3",
               "position 3: the column actor"},
           Row{"UPDATE events SET envelope = envelope || ' ' WHERE position = 3",
               "position 3: its envelope is not canonical"},
           Row{"UPDATE events SET envelope = replace(envelope, 'other.created', 'other.creates'),"
               " type = 'other.creates' WHERE position = 4",
               "position 4: the column leaf_hash"},
           Row{"UPDATE log_head SET root = sha256('x')", "the root in log_head"},
           Row{"UPDATE log_head SET recorded_at = recorded_at + interval '1 s'",
               "the time in log_head"},
           Row{"UPDATE log_head SET frontier = frontier || frontier", "frontier"},
           Row{"UPDATE projections SET position = 5 WHERE name = 'settings'",
               "the read model settings is not at the head"},
           Row{"UPDATE settings SET data = '{\"n\": 5}' WHERE key = 'v1:::'",
               "settings row v1:::: data"},
           Row{"UPDATE settings SET data = '{\"n\": 4.0}' WHERE key = 'v1:::'",
               "settings row v1:::"},
           Row{"UPDATE settings SET version = 7 WHERE key = 'v1::d:'",
               "settings row v1::d:: version"},
           Row{"DELETE FROM settings WHERE key = 'v1::d:'",
               "settings row v1::d:: the row is missing"},
           Row{"INSERT INTO settings SELECT 99, 'v1::z:', data, 1, now(), now() FROM settings "
               "LIMIT 1",
               "settings row v1::z:: the log has no such record"},
           Row{"INSERT INTO tiles SELECT 0, 0, decode(repeat('00', 8192), 'hex'), sha256('x')",
               "the tile with level 0 and index 0 is beyond the tree of 6 events"},
           Row{"INSERT INTO tiles SELECT 3, 7, decode(repeat('00', 8192), 'hex'), sha256('x')",
               "the tile with level 3 and index 7 is beyond the tree of 6 events"},
           Row{"INSERT INTO tiles SELECT 9, 0, decode(repeat('00', 8192), 'hex'), sha256('x')",
               "the tile with level 9 and index 0 is beyond the tree of 6 events"},
       })
    BOOST_TEST_CONTEXT(row.damage) {
      owner.exec(
          "DROP SCHEMA IF EXISTS kept CASCADE; CREATE SCHEMA kept;"
          " CREATE TABLE kept.events AS TABLE events; CREATE TABLE kept.head AS TABLE log_head;"
          " CREATE TABLE kept.projections AS TABLE projections;"
          " CREATE TABLE kept.settings AS TABLE settings; CREATE TABLE kept.tiles AS TABLE tiles");
      tamper(row.damage);
      const std::string found = finding();
      BOOST_CHECK(!found.empty());
      BOOST_CHECK_MESSAGE(found.find(row.finding) != std::string::npos, found);
      owner.exec(
          "DELETE FROM events; INSERT INTO events TABLE kept.events; DELETE FROM log_head;"
          " INSERT INTO log_head TABLE kept.head; DELETE FROM projections;"
          " INSERT INTO projections TABLE kept.projections; DELETE FROM settings;"
          " INSERT INTO settings TABLE kept.settings; DELETE FROM tiles;"
          " INSERT INTO tiles TABLE kept.tiles");
      BOOST_CHECK_EQUAL(finding(), "");
    }
}

BOOST_AUTO_TEST_CASE(an_event_beyond_the_head_is_found) {
  tamper(
      "INSERT INTO events SELECT 7, stream, 9, type, recorded_at, actor, reason, request_id,"
      " command_id, payload, payload_salt, envelope, leaf_hash FROM events WHERE position = 6");
  BOOST_CHECK_EQUAL(finding(), "position 7: the event is beyond the head");
}

BOOST_AUTO_TEST_CASE(tiles_are_recomputed) {
  write_many(600);
  BOOST_CHECK_EQUAL(finding(), "");
  tamper("INSERT INTO tiles SELECT level, 2, hashes, root FROM tiles WHERE index = 1");
  BOOST_CHECK_EQUAL(finding(),
                    "the tile with level 0 and index 2 is beyond the tree of 606 events");
  tamper("DELETE FROM tiles WHERE index = 2");
  tamper("UPDATE tiles SET hashes = overlay(hashes placing '\\x00' from 100) WHERE index = 1");
  BOOST_CHECK_EQUAL(finding(), "the tree's tile 0/001 does not have the hashes of its events");
  tamper("DELETE FROM tiles WHERE index = 1");
  BOOST_CHECK_EQUAL(finding(), "the tree's tile 0/001 is missing");
}

BOOST_AUTO_TEST_CASE(from_a_checkpoint_on_only_what_came_after_is_read) {
  write_many(305);
  const VerifiedBefore before = checkpoint();
  BOOST_CHECK_EQUAL(finding(before), "");
  write_many(350);
  write({updated("v1:::", R"({"n":5})")});
  BOOST_CHECK_EQUAL(finding(before), "");
  tamper("UPDATE events SET payload = '[]' WHERE position = 100");
  BOOST_CHECK_EQUAL(finding(before), "");
  BOOST_CHECK_NE(finding(), "");
  VerifiedBefore other = before;
  other.root[0] ^= 1;
  BOOST_CHECK(finding(other).find("rewritten") != std::string::npos);
  other.position.value = 100'000;
  BOOST_CHECK(finding(other).find("fewer") != std::string::npos);
  tamper("UPDATE events SET payload = '[]' WHERE position = 400");
  BOOST_CHECK(finding(before).starts_with("position 400: the payload"));
}

BOOST_AUTO_TEST_CASE(a_missing_event_at_the_checkpoint_is_named) {
  write_many(250);  // a full tile, so that no hash of that event is asked of its row
  const VerifiedBefore before = checkpoint();
  BOOST_REQUIRE_EQUAL(before.position.value, 256);
  tamper("DELETE FROM events WHERE position = 256");
  BOOST_CHECK_EQUAL(finding(before), "the event at position 256 is missing");
}

BOOST_AUTO_TEST_CASE(what_is_erased_meanwhile_is_explained_by_an_event_beyond_the_head) {
  write_many(8'600);  // more than is read before progress is told for the first time
  struct Row {
    const char* name;
    std::function<void()> meanwhile;
    std::string finding;  // its beginning
  };
  const std::string lost =
      "UPDATE events SET payload = NULL, payload_salt = NULL WHERE position = ";
  const Row rows[] = {
      {"erased, and more written",
       [&] {
         for (const std::int64_t position : {8'010, 8'020}) erase_one(position);
         write_many(300);
       },
       ""},
      {"lost", [&] { tamper(lost + "8030"); }, "position 8030: the payload is missing, and no"},
      {"lost, while another is erased",
       [&] {
         tamper(lost + "8025");  // before what the row above has lost
         erase_one(8'050);
       },
       "position 8025: the payload is missing, and no"},
  };
  for (const Row& row : rows) BOOST_TEST_CONTEXT(row.name) {
      bool first = true;
      std::string found;
      try {
        verify(database.app(), std::nullopt, [&](auto...) {
          if (std::exchange(first, false)) row.meanwhile();
        });
      } catch (const CorruptLog& e) {
        found = e.what();
      }
      BOOST_CHECK_MESSAGE(row.finding.empty() ? found.empty() : found.starts_with(row.finding),
                          found);
      BOOST_CHECK(!first);
    }
}

BOOST_AUTO_TEST_CASE(while_others_write_a_log_is_right) {
  std::atomic<bool> stop = false;
  auto writer = std::async(std::launch::async, [&] {
    for (int n = 0; !stop; ++n) write({updated("v1:::", R"({"n":)" + std::to_string(n) + "}")});
  });
  for (int i = 0; i < 15; ++i) BOOST_CHECK_EQUAL(finding(), "");
  stop = true;
  writer.get();
}

BOOST_AUTO_TEST_CASE(a_difference_is_told_by_its_setting) {
  BOOST_CHECK_EQUAL(
      difference_of_rows(
          R"({"data":{"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":"a"}}}})",
          R"({"data":{"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":"b"}}}})"),
      "run.default_queue");
  BOOST_CHECK_EQUAL(
      difference_of_rows(R"({"data":{"n":1},"version":1})", R"({"data":{"n":1},"version":2})"),
      "version");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
