#include "projections/export.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "events/tiles.h"
#include "projections/export_check.h"
#include "tests/projections/settings_log.h"

namespace writ {
namespace {

struct ExportFixture : SettingsLog {
  ExportFixture()
      : file(std::filesystem::temp_directory_path() / ("writ_export_" + hex(random_bytes(6)))) {
    write({created("v1:::", R"({"b":1.50,"a":"\u00e9\"\\"})")});                    // 1
    write({created("v1::d:", "{}"), {{"other/x"}, "other.made", "not JSON", {}}});  // 2, 3
    write({updated("v1:::", R"({"n":2})")});                                        // 4
    write({updated("v1::d:", R"({"n": 3})")});                                      // 5
    write({updated("v1:::", R"({"b":1e2,"a":[1, 2]})")});                           // 6
    erase(4);                                                                       // 7
  }
  ~ExportFixture() { std::filesystem::remove(file); }

  Checkpoint checkpoint() {
    const TreeHead head = read_tree_head(owner);
    return {"writ/" + head.log_id, head.size, head.root};
  }

  std::vector<std::string> exported() {
    std::string all;
    export_log(
        database.app(), [&](std::string_view text) { all += text; }, [](auto...) {});
    std::vector<std::string> split;
    for (std::size_t end = 0; (end = all.find('\n')) != std::string::npos; all.erase(0, end + 1))
      split.push_back(all.substr(0, end));
    BOOST_CHECK(all.empty());
    return split;
  }

  void save(const std::vector<std::string>& content) {
    std::ofstream out(file, std::ios::binary);
    for (const std::string& line : content) out << line << '\n';
  }

  /// What is wrong with the file, "" when nothing is.
  std::string finding(const ExportTrust& trust) {
    try {
      check_export(file, trust, [](auto...) {});
      return "";
    } catch (const BadExport& e) {
      return e.what();
    }
  }

  std::filesystem::path file;
};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t place = text.find(what);
  BOOST_REQUIRE_MESSAGE(place != std::string::npos, what << " is not in " << text);
  return text.replace(place, what.size(), with);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(export_tests, ExportFixture)

BOOST_AUTO_TEST_CASE(an_export_has_every_event_every_row_and_an_end) {
  const auto lines = exported();
  BOOST_REQUIRE_EQUAL(lines.size(), 7u + 2u + 1u);
  save(lines);
  const CheckedExport checked = check_export(file, {checkpoint(), {}}, [](auto...) {});
  BOOST_CHECK_EQUAL(checked.events, 7);
  BOOST_CHECK_EQUAL(checked.rows, 2);
}

BOOST_AUTO_TEST_CASE(an_empty_log_is_exported_and_right) {
  const TestDatabase empty;
  std::string all;
  export_log(
      empty.app(), [&](std::string_view text) { all += text; }, [](auto...) {});
  save({all.substr(0, all.size() - 1)});
  Connection connection(empty.owner());
  const TreeHead head = read_tree_head(connection);
  BOOST_CHECK_EQUAL(finding({{"writ/" + head.log_id, head.size, head.root}, {}}), "");
}

BOOST_AUTO_TEST_CASE(whatever_is_changed_is_caught_and_named) {
  using Lines = std::vector<std::string>;
  const Lines good = exported();
  const ExportTrust trust{checkpoint(), {}};
  struct Row {
    const char* name;
    std::function<void(Lines&)> tamper;
    const char* finding;  // part of it
  };
  for (const Row& row : {
           Row{"a position",
               [](Lines& l) { l[2] = replaced(l[2], R"(\"position\":3)", R"(\"position\":8)"); },
               "position 3: the event with this position is missing; here is the one with "
               "position 8"},
           Row{"a payload", [](Lines& l) { l[4] = replaced(l[4], R"(\"n\": 3)", R"(\"n\": 4)"); },
               "position 5: the payload is not the one that was recorded"},
           Row{"a salt", [](Lines& l) { l[4] = replaced(l[4], R"("salt":")", R"("salt":"00)"); },
               "position 5: the payload is not the one that was recorded"},
           Row{"an actor", [](Lines& l) { l[5] = replaced(l[5], "tester", "eve"); },
               "the root of the export's 7 events is not the checkpoint's"},
           Row{"an actor of an event that another follows",
               [](Lines& l) { l[1] = replaced(l[1], "tester", "eve"); },
               "position 5: it does not follow on the event of its stream"},
           Row{"the order", [](Lines& l) { std::swap(l[2], l[3]); }, "position 3: the event"},
           Row{"the last event dropped", [](Lines& l) { l.erase(l.begin() + 6); },
               "the export has 6 events, the checkpoint 7"},
           Row{"a middle event of one stream dropped", [](Lines& l) { l.erase(l.begin() + 3); },
               "position 4: the event with this position is missing"},
           Row{"a middle event dropped and the positions mended",
               [](Lines& l) {
                 l.erase(l.begin() + 3);
                 for (int i = 3; i < 6; ++i) {
                   const std::string at = R"(\"position\":)";
                   l[static_cast<std::size_t>(i)] =
                       replaced(l[static_cast<std::size_t>(i)], at + std::to_string(i + 2),
                                at + std::to_string(i + 1));
                 }
               },
               "position 5: the stream settings/v1::: goes on with version 3 after version 1"},
           Row{"a payload taken away as if it were erased",
               [](Lines& l) { l[0] = l[0].substr(0, l[0].find(R"(,"payload")")) + "}"; },
               "position 1: the payload is missing, and no event says that it was erased"},
           Row{"white space", [](Lines& l) { l[0] += " "; }, "line 1: not canonical"},
           Row{"an empty line", [](Lines& l) { l.insert(l.begin(), ""); }, "line 1: not canonical"},
           Row{"a row's data",
               [](Lines& l) { l[8] = replaced(l[8], R"(\"n\": 3)", R"(\"n\": 4)"); },
               "settings row v1::d:: its data is not the newest event's"},
           Row{"a row's version",
               [](Lines& l) { l[8] = replaced(l[8], R"("version":2)", R"("version":3)"); },
               "settings row v1::d:: its version is 3, by the log 2"},
           Row{"a row's id", [](Lines& l) { l[8] = replaced(l[8], R"("id":2)", R"("id":5)"); },
               "settings row v1::d:: its id"},
           Row{"a row's time",
               [](Lines& l) { l[8] = replaced(l[8], R"("created_at":"2)", R"("created_at":"1)"); },
               "settings row v1::d:: created_at"},
           Row{"a row dropped",
               [](Lines& l) {
                 l.erase(l.begin() + 7);
                 l.back() = replaced(l.back(), R"("rows":2)", R"("rows":1)");
               },
               "settings row v1::: is missing"},
           Row{"a row twice", [](Lines& l) { l.insert(l.begin() + 7, l[7]); },
               "settings row v1:::: out of order"},
           Row{"a row of nobody", [](Lines& l) { l[8] = replaced(l[8], "v1::d:", "v1::e:"); },
               "settings row v1::e:: the log has no such record"},
           Row{"the end dropped", [](Lines& l) { l.pop_back(); }, "cut off"},
           Row{"the end's root",
               [](Lines& l) { l.back() = replaced(l.back(), R"("root":")", R"("root":"0)"); },
               "the end names another root"},
           Row{"something after the end", [](Lines& l) { l.push_back(l[0]); },
               "line 11: nothing may follow the end"},
           Row{"nothing at all", [](Lines& l) { l.clear(); }, "cut off"},
       })
    BOOST_TEST_CONTEXT(row.name) {
      Lines bad = good;
      row.tamper(bad);
      save(bad);
      const std::string found = finding(trust);
      BOOST_CHECK_MESSAGE(found.find(row.finding) != std::string::npos, found);
    }
  save(good);
  BOOST_CHECK_EQUAL(finding(trust), "");
}

BOOST_AUTO_TEST_CASE(no_byte_of_an_export_can_change_unnoticed) {
  const auto good = exported();
  const ExportTrust trust{checkpoint(), {}};
  for (std::size_t line = 0; line < good.size(); ++line)
    for (std::size_t i = line % 3; i < good[line].size(); i += 3) {
      auto bad = good;
      bad[line][i] = static_cast<char>(bad[line][i] ^ 1);
      save(bad);
      BOOST_CHECK_MESSAGE(!finding(trust).empty(), "line " << line << " byte " << i);
    }
}

BOOST_AUTO_TEST_CASE(a_cut_anywhere_is_noticed) {
  std::string all;
  export_log(
      database.app(), [&](std::string_view text) { all += text; }, [](auto...) {});
  for (std::size_t size = 0; size < all.size(); size += 7) {
    std::ofstream(file, std::ios::binary) << all.substr(0, size);
    BOOST_CHECK_MESSAGE(!finding({checkpoint(), {}}).empty(), size);
  }
}

BOOST_AUTO_TEST_CASE(checkpoints_that_do_not_fit_are_named) {
  const Checkpoint old = checkpoint();
  write({updated("v1::d:", R"({"n":9})")});
  save(exported());
  const Checkpoint now = checkpoint();
  BOOST_CHECK_EQUAL(finding({now, old}), "");
  BOOST_CHECK_EQUAL(finding({now, now}), "");
  const auto names = [&](const ExportTrust& trust, const char* part) {
    const std::string found = finding(trust);
    BOOST_CHECK_MESSAGE(found.find(part) != std::string::npos, found);
  };
  names({old, {}}, "nothing vouches for the rest");
  Checkpoint swapped = now;
  swapped.root[0] ^= 1;
  names({swapped, {}}, "is not the checkpoint's");
  Checkpoint rewritten = old;
  rewritten.root[0] ^= 1;
  names({now, rewritten}, "does not continue the old checkpoint");
  rewritten.size.value = 3;
  names({now, rewritten}, "does not continue the old checkpoint");
  rewritten.size.value = 100;
  names({now, rewritten}, "of more events");
  Checkpoint other = now;
  other.origin = "writ/00112233";
  names({other, {}}, "position 1: the event is of another log");
  names({now, other}, "the old checkpoint is of another log");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
