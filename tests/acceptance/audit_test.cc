#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <random>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/random_settings.h"
#include "tests/acceptance/settings_model.h"
#include "tests/acceptance/tokens.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
namespace {

const std::string kAudit = "/writ.audit.v1.AuditService/";

/// What settings say by path, as the audit API tells it: `state value`. Entries of maps beside
/// maps.
using Leaves = std::map<std::string, std::string>;

std::string snake(const std::string& camel) {
  std::string out;
  for (const char c : camel)
    if (c >= 'A' && c <= 'Z')
      out += std::string("_") + static_cast<char>(c - 'A' + 'a');
    else
      out += c;
  return out;
}

/// What the settings' JSON leaves out and the audit API says.
std::string left_out(const std::string& member) {
  if (member == "boolValue") return "false";
  if (member == "intValue") return "\"0\"";
  return member == "stringValue" || member == "quantityValue" ? "\"\"" : "{}";
}

/// A google.protobuf.Struct has its members sorted.
Json sorted(Json value) {
  if (value.is_object()) std::ranges::sort(value.members(), {}, &Json::Member::first);
  return value;
}

void add_leaves(const Json& group, const std::string& path, Leaves& out) {
  for (const auto& [name, child] : group.members()) {
    const std::string inner = path.empty() ? name : path + "." + name;
    const std::string member = value_member(inner);
    if (member.empty()) {
      add_leaves(child, inner, out);
      continue;
    }
    const std::string state = child.at("state").text();
    const Json* value = child.find(member);
    std::string& leaf = out[snake(inner)] = state;
    if (state != "SETTING_STATE_VALUE") continue;
    if (member != "mapValue") {
      leaf += " " + (value == nullptr ? left_out(member) : sorted(*value).dump());
      continue;
    }
    if (const Json* entries = value == nullptr ? nullptr : value->find("entries"))
      for (const auto& [key, text] : entries->members())
        out[snake(inner) + "[\"" + key + "\"]"] = "SETTING_STATE_VALUE " + text.dump();
  }
}

Leaves leaves_of(const Json& settings) {
  Leaves out;
  add_leaves(settings, "", out);
  return out;
}

std::string told(const Leaves& leaves) {
  std::string out;
  for (const auto& [path, value] : leaves) out += path + ": " + value + "\n";
  return out;
}

std::string shown(const Json& leaf_value) {
  const Json* value = leaf_value.find("value");
  return leaf_value.at("state").text() + (value == nullptr ? "" : " " + sorted(*value).dump());
}

const std::vector<Json>& elements(const Json& answer, const char* name) {
  static const std::vector<Json> none;
  const Json* list = answer.find(name);
  return list == nullptr ? none : list->elements();
}

long number(const Json& object, const char* name) {
  const Json* value = object.find(name);
  return value == nullptr ? 0 : std::stol(value->text());
}

std::string text(const Json& object, const char* name) {
  const Json* value = object.find(name);
  return value == nullptr ? "" : value->text();
}

/// A service with a history of random writes, all of them remembered.
class AuditedHistory {
 public:
  struct Write {
    Json key;
    long version;
    std::string actor, reason;
    Leaves leaves;          // what the record says
    SettingsModel present;  // everything, right after
  };

  explicit AuditedHistory(std::uint64_t seed)
      : random(seed), writ(tokens.with(on(database))), client(writ.port()) {
    client.always(tokens.as("ann"));
    BOOST_TEST_MESSAGE("WRIT_SEED=" << seed);
  }

  void write_some(int count) {
    for (int i = 0; i < count; ++i) write_one();
  }

  /// Answers the body; fails the test for an error.
  Json ask(const std::string& method, const Json& request) {
    const HttpAnswer answer = send(method, request);
    BOOST_REQUIRE_MESSAGE(answer.status == 200, method << request << ": " << answer.body);
    return answer.json();
  }
  HttpAnswer send(const std::string& method, const Json& request) {
    return client.send("POST", kAudit + method, "application/json", request.dump());
  }

  /// All pages.
  std::vector<Json> list(Json request) {
    std::vector<Json> changes;
    for (;;) {
      const Json page = ask("ListChanges", request);
      for (const Json& change : elements(page, "changes")) changes.push_back(change);
      if (page.find("nextCursor") == nullptr) return changes;
      request["cursor"] = page.at("nextCursor");
    }
  }

  long head() const { return static_cast<long>(writes.size()); }
  const Write& at(long position) const { return writes[static_cast<std::size_t>(position) - 1]; }

  TestDatabase database;
  const Tokens tokens{{"ann", "bo", "cy"}};
  RandomSettings random;
  WritProcess writ;
  ApiClient client;
  SettingsModel model;
  std::vector<Write> writes;  // in the order of their positions

 private:
  void write_one() {
    const Json key = random.key();
    const long version = model.version(storage_key(key));
    Json request = Json::object({{"key", key}, {"settings", random.settings()}});
    if (version > 0) request["version"] = std::to_string(version);
    const std::string actor = random.pick(std::vector<std::string>{"ann", "bo", "cy"});
    const std::string reason = random.chance(50) ? "because of " + std::to_string(head()) : "";
    HttpFields headers;
    client.always(tokens.as(actor));
    if (!reason.empty()) headers.emplace_back("Writ-Reason", reason);
    const HttpAnswer answer =
        client.call(version > 0 ? "UpdateSettings" : "CreateSettings", request, headers);
    client.always(tokens.as("ann"));
    BOOST_REQUIRE_MESSAGE(answer.status == 200, answer.body);
    version > 0 ? model.update(request) : model.create(request);
    writes.push_back(
        {key, version + 1, actor, reason, leaves_of(pruned(request.at("settings"))), model});
  }
};

void check_past(AuditedHistory& history) {
  for (int i = 0; i < 60; ++i) {
    const long position = history.random.number(static_cast<int>(history.head()) + 1);
    const Json key = history.random.key();
    const Json answer =
        history.ask("GetSettingsAt",
                    Json::object({{"key", key},
                                  {"at", Json::object({{"position", std::to_string(position)}})}}));
    const SettingsModel past = position == 0 ? SettingsModel() : history.at(position).present;
    const Json request = Json::object({{"key", key}});
    BOOST_TEST(answer.at("effective") == past.get(request).body.at("settingsRecord"));
    BOOST_TEST(answer.at("levels") == past.get_for_edit(request).body.at("levels"));
  }
}

void check_changes(AuditedHistory& history) {
  const std::vector<Json> changes = history.list(
      Json::object({{"oldestFirst", Json::boolean(true)}, {"pageSize", Json::number(7)}}));
  BOOST_REQUIRE_EQUAL(changes.size(), history.writes.size());
  std::map<std::string, Leaves> records;
  for (const Json& change : changes) {
    const auto& write = history.at(number(change, "position"));
    BOOST_TEST(storage_key(change.at("key")) == storage_key(write.key));
    BOOST_TEST(number(change, "version") == write.version);
    BOOST_TEST(text(change, "actor") == write.actor);
    BOOST_TEST(text(change, "reason") == write.reason);
    Leaves& record = records[storage_key(write.key)];
    for (const Json& leaf : elements(change, "leaves")) {
      const std::string path = leaf.at("path").text();
      const Json* before = leaf.find("before");
      BOOST_TEST((before == nullptr ? "" : shown(*before)) == record[path], path);
      if (const Json* after = leaf.find("after"))
        record[path] = shown(*after);
      else
        record.erase(path);
    }
    BOOST_TEST(told(record) == told(write.leaves));
  }
}

bool is_wanted(const AuditedHistory::Write& write, const std::vector<Json>& leaves,
               const Json& filter, long position) {
  const Json* key = filter.find("key");
  if (key != nullptr && storage_key(*key) != storage_key(write.key)) {
    if (filter.find("below") == nullptr) return false;
    if (!text(*key, "domain").empty() && text(*key, "domain") != text(write.key, "domain"))
      return false;
    if (!text(*key, "project").empty()) return false;
  }
  if (const Json* actor = filter.find("actor"); actor != nullptr && actor->text() != write.actor)
    return false;
  if (position < number(filter, "fromPosition")) return false;
  if (const long to = number(filter, "toPosition"); to > 0 && position > to) return false;
  const Json* path = filter.find("path");
  return path == nullptr || std::ranges::any_of(leaves, [&](const Json& leaf) {
           const std::string changed = leaf.at("path").text();
           const std::string& wanted = path->text();
           return changed == wanted || changed.starts_with(wanted + ".") ||
                  changed.starts_with(wanted + "[");
         });
}

Json random_filter(AuditedHistory& history) {
  RandomSettings& random = history.random;
  Json filter = Json::object();
  if (random.chance(50)) filter["key"] = random.key();
  if (filter.find("key") != nullptr && random.chance(50)) filter["below"] = Json::boolean(true);
  if (random.chance(40)) filter["actor"] = random.chance(80) ? "ann" : "nobody";
  if (random.chance(50))
    filter["path"] = random.pick(std::vector<std::string>{"run", "run.default_queue", "labels",
                                                          "task_resource", "task_resource.max",
                                                          "environment_variables", "security"});
  if (random.chance(30))
    filter["fromPosition"] = std::to_string(random.number(static_cast<int>(history.head())));
  if (random.chance(30))
    filter["toPosition"] = std::to_string(random.number(static_cast<int>(history.head())));
  return filter;
}

void check_filters(AuditedHistory& history) {
  std::map<long, std::vector<Json>> leaves;
  for (const Json& change : history.list(Json::object()))
    leaves[number(change, "position")] = elements(change, "leaves");
  long found = 0;
  for (int i = 0; i < 80; ++i) {
    const Json filter = random_filter(history);
    const bool oldest_first = history.random.chance(50);
    std::vector<long> expected;
    for (long position = 1; position <= history.head(); ++position)
      if (is_wanted(history.at(position), leaves[position], filter, position))
        expected.push_back(position);
    if (!oldest_first) std::ranges::reverse(expected);
    std::vector<long> listed;
    for (const Json& change :
         history.list(Json::object({{"filter", filter},
                                    {"oldestFirst", Json::boolean(oldest_first)},
                                    {"pageSize", Json::number(1 + history.random.number(20))}})))
      listed.push_back(number(change, "position"));
    BOOST_TEST_CONTEXT(filter) BOOST_TEST(listed == expected, boost::test_tools::per_element());
    found += static_cast<long>(expected.size());
  }
  BOOST_TEST(found > 100);
}

void check_blame(AuditedHistory& history) {
  std::map<long, Json> changes;
  for (const Json& change : history.list(Json::object()))
    changes[number(change, "position")] = change;
  for (int i = 0; i < 40; ++i) {
    const long position = 1 + history.random.number(static_cast<int>(history.head()));
    const Json key = history.random.key();
    const Json answer = history.ask(
        "Blame", Json::object({{"key", key},
                               {"at", Json::object({{"position", std::to_string(position)}})}}));
    Leaves blamed;
    for (const Json& leaf : elements(answer, "leaves")) {
      const std::string path = leaf.at("path").text();
      blamed[path] = shown(leaf.at("value"));
      const long origin = number(leaf.at("origin"), "position");
      BOOST_REQUIRE(changes.contains(origin));
      const auto& changed = elements(changes[origin], "leaves");
      BOOST_TEST(std::ranges::any_of(changed,
                                     [&](const Json& one) {
                                       return one.at("path").text() == path &&
                                              one.find("after") != nullptr &&
                                              shown(one.at("after")) == blamed[path];
                                     }),
                 path << " is blamed on position " << origin);
    }
    const Json effective = history.at(position).present.get(Json::object({{"key", key}})).body;
    const Json* settings = effective.at("settingsRecord").find("settings");
    BOOST_TEST(told(blamed) == told(settings == nullptr ? Leaves() : leaves_of(*settings)));
  }
}

void check_reverts(AuditedHistory& history) {
  for (int i = 0; i < 20; ++i) {
    const Json key = history.random.key();
    const long version = history.model.version(storage_key(key));
    if (version < 2) continue;
    const long to = 1 + history.random.number(static_cast<int>(version) - 1);
    const Json request = Json::object({{"key", key},
                                       {"toVersion", std::to_string(to)},
                                       {"version", std::to_string(version)},
                                       {"reason", "put it back"}});
    const Json answer = history.ask("Revert", request);
    const Leaves* earlier = nullptr;
    for (const auto& write : history.writes)
      if (storage_key(write.key) == storage_key(key) && write.version == to)
        earlier = &write.leaves;
    BOOST_REQUIRE(earlier != nullptr);
    const Json& record = answer.at("settingsRecord");
    const Json* settings = record.find("settings");
    BOOST_TEST((leaves_of(settings == nullptr ? Json::object() : *settings) == *earlier));
    BOOST_TEST(number(record, "version") == version + 1);
    const Json change = history.list(
        Json::object({{"pageSize", Json::number(1)}, {"filter", Json::object({{"key", key}})}}))[0];
    BOOST_TEST(number(change, "position") == number(answer, "position"));
    BOOST_TEST(text(change, "reason") == "put it back");
    BOOST_TEST(change.at("detail").at("reverted_to").text() == std::to_string(to));
    // A stale one conflicts and changes nothing.
    BOOST_TEST(history.send("Revert", request).code() == "failed_precondition");
    Json update = Json::object({{"key", key}, {"version", std::to_string(version)}});
    update["settings"] = settings == nullptr ? Json::object() : *settings;
    history.model.update(update);
    history.writes.push_back({key, version + 1, "ann", "put it back", *earlier, history.model});
  }
}

void run_history(std::uint64_t seed) {
  AuditedHistory history(seed);
  history.write_some(150);
  check_past(history);
  check_changes(history);
  check_filters(history);
  check_blame(history);
  check_reverts(history);
  check_blame(history);
  check_changes(history);
  BOOST_TEST(broken_invariants(history.database.conninfo()) == std::vector<std::string>{},
             boost::test_tools::per_element());
}

struct Refusal {
  const char* name;
  std::string method, request, code, message;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_audit_api)

BOOST_AUTO_TEST_CASE(tells_random_histories_as_they_were) {
  run_history(seed_from_environment().value_or(std::random_device()()));
}

BOOST_AUTO_TEST_CASE(refuses_what_it_cannot_answer_and_says_why) {
  AuditedHistory history(1);
  const Json key = key_json("d");
  for (const char* queue : {"a", "b"}) {
    Json request = Json::object({{"key", key}, {"settings", queue_settings(queue)}});
    if (*queue == 'b') request["version"] = "1";
    BOOST_REQUIRE_EQUAL(
        history.client.call(*queue == 'b' ? "UpdateSettings" : "CreateSettings", request).status,
        200);
  }
  const std::string k = R"({"key":{"domain":"d"},)";
  const Refusal refusals[] = {
      {"no key", "GetSettingsAt", "{}", "invalid_argument", "key is required"},
      {"a position in the future", "GetSettingsAt", k + R"("at":{"position":"3"}})", "out_of_range",
       "invalid at.position: position 3 is in the future; the log is at position 2"},
      {"a time in the future", "Blame", k + R"("at":{"time":"9999-01-01T00:00:00Z"}})",
       "out_of_range", "invalid at.time: 9999-01-01T00:00:00.000000Z is in the future"},
      {"a malformed time", "Blame", k + R"("at":{"time":"yesterday"}})", "invalid_argument", ""},
      {"a version that is not there", "Diff", k + R"("from":{"version":"7"}})", "not_found",
       "version 7 of domain d not found; it has versions 1 to 2"},
      {"a record that is not there", "Diff", R"({"key":{},"from":{"version":"1"}})", "not_found",
       "settings not found: v1:::"},
      {"a path that is no setting", "ListChanges", R"({"filter":{"path":"run.default_que"}})",
       "invalid_argument",
       "invalid path \"run.default_que\": there is no such setting (did you mean "
       "\"run.default_queue\"?)"},
      {"below nothing", "ListChanges", R"({"filter":{"below":true}})", "invalid_argument",
       "invalid filter.below: needs a key"},
      {"a page too large", "ListChanges", R"({"pageSize":501})", "invalid_argument",
       "invalid page_size: must be at most 500"},
      {"a cursor that is none", "ListChanges", R"({"cursor":"x"})", "invalid_argument",
       "invalid cursor: malformed"},
      {"a cursor of an earlier form", "ListChanges", R"({"cursor":"MTozOmFhMGJhYjgxMDE1NDkwMjk="})",
       "invalid_argument", "invalid cursor: malformed"},
      {"a filter in the future", "ListChanges", R"({"filter":{"fromPosition":"9"}})",
       "out_of_range",
       "invalid filter.from_position: position 9 is in the future; the log is at position 2"},
      {"an end in the future", "ListChanges", R"({"filter":{"toPosition":"3"}})", "out_of_range",
       "invalid filter.to_position: position 3 is in the future; the log is at position 2"},
      {"a beginning in the future", "ListChanges", R"({"filter":{"since":"9999-01-01T00:00:00Z"}})",
       "out_of_range", "invalid filter.since: 9999-01-01T00:00:00.000000Z is in the future"},
      {"an entry of a map by a dot", "ListChanges", R"({"filter":{"path":"labels.team"}})",
       "invalid_argument",
       "invalid path \"labels.team\": there is no such setting (an entry of this map is written "
       "labels[\"team\"])"},
      {"a revert to nothing", "Revert", k + R"("version":"2"})", "invalid_argument",
       "the version to go back to is required"},
      {"a revert from nothing", "Revert", k + R"("toVersion":"1"})", "invalid_argument",
       "the version of the record now is required"},
      {"a revert to itself of a record that is not there", "Revert",
       R"({"key":{"domain":"nix"},"toVersion":"2","version":"2"})", "not_found",
       "settings not found: v1::nix:"},
      {"a revert to what was the newest once", "Revert", k + R"("toVersion":"1","version":"1"})",
       "failed_precondition", "settings version conflict: v1::d:"},
      {"U+0000 in a filter", "ListChanges", R"({"filter":{"actor":"a\u0000"}})", "invalid_argument",
       "invalid filter.actor: must not contain U+0000"},
      {"a revert to itself", "Revert", k + R"("toVersion":"2","version":"2"})", "invalid_argument",
       "version 2 is what the record says now; nothing to go back to"},
      {"a stale revert", "Revert", k + R"("toVersion":"2","version":"1"})", "failed_precondition",
       "settings version conflict: v1::d:"},
      {"a reason too long", "Revert",
       k + R"("toVersion":"1","version":"2","reason":")" + std::string(4097, 'x') + "\"}",
       "invalid_argument", ""},
      {"no event", "GetEvent", "{}", "invalid_argument",
       "invalid position 0: the first event is at position 1"},
      {"an event in the future", "GetEvent", R"({"position":"3"})", "out_of_range",
       "invalid position: position 3 is in the future; the log is at position 2"},
  };
  for (const Refusal& refusal : refusals) BOOST_TEST_CONTEXT(refusal.name) {
      const HttpAnswer answer =
          history.client.send("POST", kAudit + refusal.method, "application/json", refusal.request);
      BOOST_TEST(answer.code() == refusal.code);
      if (!refusal.message.empty()) BOOST_TEST(answer.message() == refusal.message);
    }
  BOOST_TEST(number(history.ask("GetHead", Json::object()), "position") == 2);
  // An end of time is no position that must be there: what came before it is.
  BOOST_TEST(history.list(Json::parse(R"({"filter":{"until":"9999-01-01T00:00:00Z"}})")).size() ==
             2u);
}

BOOST_AUTO_TEST_CASE(takes_a_cursor_only_with_its_filter_and_order_and_of_its_own_log) {
  AuditedHistory history(1);
  history.write_some(3);
  const Json cursor =
      history.ask("ListChanges", Json::object({{"pageSize", "1"}})).at("nextCursor");
  const auto refusal = [&](const std::string& request) {
    Json parsed = Json::parse(request);
    parsed["cursor"] = cursor;
    return history.send("ListChanges", parsed).message();
  };
  BOOST_TEST(refusal("{}") == "");
  BOOST_TEST(refusal(R"({"pageSize":2})") == "");
  for (const char* request : {R"({"filter":{"actor":"ann"}})", R"({"oldestFirst":true})"})
    BOOST_TEST(refusal(request) == "invalid cursor: it belongs to another filter or order");
  // Databases of tests are copies of one; this makes it another log.
  query(history.database.conninfo(),
        "UPDATE writ.log_head SET log_id = decode(reverse(encode(log_id, 'hex')), 'hex')");
  BOOST_TEST(refusal("{}") == "invalid cursor: it belongs to another log");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
