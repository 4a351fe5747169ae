#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <boost/test/unit_test.hpp>
#include <iostream>

#include "tests/acceptance/api_client.h"
#include "tests/acceptance/in_parallel.h"
#include "tests/acceptance/log_checks.h"
#include "tests/acceptance/writ_process.h"

namespace writ::test {
BOOST_AUTO_TEST_SUITE(the_state_of_the_service)

BOOST_AUTO_TEST_CASE(is_told_to_probes) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  const auto alive = client.get("/healthz");
  BOOST_TEST(alive.status == 200);
  BOOST_TEST(alive.body == "ok\n");
  const auto version = client.get("/version");
  BOOST_TEST(version.status == 200);
  BOOST_TEST("writ " + version.json().at("version").text() + "\n" == run_writ({"--version"}).out);
  const auto fresh = client.get("/readyz");
  BOOST_TEST(fresh.status == 200);
  BOOST_TEST(fresh.body == "{\"ready\":true,\"headPosition\":\"0\"}\n");
  client.call("CreateSettings", create_json(key_json("a"), queue_settings("q")));
  BOOST_TEST(client.get("/readyz").body == "{\"ready\":true,\"headPosition\":\"1\"}\n");
  for (const char* path : {"/healthz", "/readyz", "/version"}) {
    BOOST_TEST(client.send("POST", path, "application/json", "{}").status == 405);
    BOOST_TEST(client.send("HEAD", path, "", "").status == 200);
  }
}

BOOST_AUTO_TEST_CASE(is_counted_for_prometheus) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  client.call("CreateSettings", create_json(key_json("a"), queue_settings("q")));
  client.get("/no/such/path");
  const auto metrics = client.get("/metrics");
  BOOST_TEST(metrics.status == 200);
  BOOST_TEST(metrics.body.find("/no/such/path") == std::string::npos);
  for (const char* line :
       {"\nwrit_log_head_position 1\n", "\nwrit_log_events 1\n", "\nwrit_log_batches 1\n",
        "\nwrit_log_batch_events_bucket{le=\"1\"} 1\n", "\nwrit_log_commit_seconds_count 1\n",
        "\nwrit_log_queued_commands 0\n", "\nwrit_connections 1\n",
        "writ_request_seconds_bucket{route=\"/", "\nwrit_body_memory_bytes 0\n",
        "\nwrit_log_refuses_to_write 0\n", "SettingsService/CreateSettings"})
    BOOST_TEST(metrics.body.find(line) != std::string::npos, line << "\nin\n" << metrics.body);
}

BOOST_AUTO_TEST_CASE(shows_the_schema_that_it_serves) {
  const TestDatabase database;
  WritProcess writ(database);
  const auto schema = ApiClient(writ.port()).get("/schema");
  BOOST_TEST(schema.status == 200);
  google::protobuf::FileDescriptorSet files;
  BOOST_REQUIRE(files.ParseFromString(schema.body));
  google::protobuf::DescriptorPool pool;
  for (const auto& file : files.file()) BOOST_TEST(pool.BuildFile(file) != nullptr, file.name());
  BOOST_TEST(pool.FindServiceByName("flyteidl2.settings.SettingsService") != nullptr);
}

BOOST_AUTO_TEST_CASE(warns_when_one_role_serves_and_owns_the_log) {
  const TestDatabase database;
  WritProcess writ({"--database-url", database.conninfo()});
  const auto ready = ApiClient(writ.port()).get("/readyz");
  BOOST_TEST(ready.status == 200);
  const Json body = ready.json();
  const auto& warnings = body.at("warnings").elements();
  BOOST_REQUIRE(warnings.size() == 1u);
  BOOST_TEST(warnings[0].text().find("only triggers keep it append-only") != std::string::npos,
             ready.body);
  BOOST_TEST(writ.log().find("writ: warning: ") != std::string::npos, writ.log());
}

BOOST_AUTO_TEST_CASE(says_who_may_do_what_when_it_starts) {
  const TestDatabase database;
  WritProcess writ(database);
  const std::string line =
      "writ: everyone is anonymous and may change everything; serving http://"
      "127.0.0.1:" +
      std::to_string(writ.port()) + "\n";
  BOOST_TEST(writ.log() == line);
}

BOOST_AUTO_TEST_CASE(takes_less_than_64_MiB_of_memory) {
  const TestDatabase database;
  WritProcess writ(database);
  std::vector<ApiClient> clients;
  for (int i = 0; i < 64; ++i) clients.emplace_back(writ.port());
  in_parallel(64, [&](int i) {
    ApiClient& client = clients[static_cast<std::size_t>(i)];
    const Json key = key_json("d" + std::to_string(i));
    require(client.call("CreateSettings", create_json(key, queue_settings("q"))).status == 200,
            "not created");
    for (int n = 0; n < 20; ++n)
      require(client.call("GetSettings", Json::object({{"key", key}})).status == 200, "not read");
  });
  const long resident = writ.memory_kib("VmRSS");
  std::cout << "resident after " << 64 * 21 << " requests over 64 connections: " << resident
            << " KiB\n";
  BOOST_TEST(resident > 0);
  if (kUnsanitized) BOOST_TEST(resident < 64 * 1024);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(without_authentication)

// DNS rebinding: the page's own name resolves to this machine.
BOOST_AUTO_TEST_CASE(a_web_page_from_elsewhere_reaches_nothing) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  const std::string port = std::to_string(writ.port());
  const std::string body = create_json(key_json("a"), queue_settings("q")).dump();
  const HttpFields foreign[] = {
      {{"Host", "evil.example"}},
      {{"Host", "evil.example:" + port}},
      {{"Host", "127.0.0.1.evil.example"}},
      {{"Host", "localhost.evil.example"}},
      {{"Host", "192.0.2.1:" + port}},
      {{"Origin", "https://evil.example"}},
      {{"Origin", "http://127.0.0.1:1"}},
      {{"Origin", "null"}},
      {{"Origin", "http://localhost:" + port + ".evil.example"}},
  };
  for (const HttpFields& headers : foreign) {
    BOOST_TEST_CONTEXT(headers[0].first << ": " << headers[0].second) {
      const auto write = client.call("CreateSettings", body, headers);
      BOOST_TEST(write.status == 403);
      BOOST_TEST(write.code() == "permission_denied");
      BOOST_TEST(client.get("/readyz", headers).status == 403);
    }
  }
  // What a page may send without being asked first is not read at all.
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", ""})
    BOOST_TEST(client.send("POST", kService + "CreateSettings", type, body).status == 415);
  BOOST_TEST(query_one(database.conninfo(), "SELECT count(*) FROM writ.events") == "0");
}

BOOST_AUTO_TEST_CASE(a_web_page_that_was_let_in_may_call) {
  const TestDatabase database;
  auto arguments = on(database);
  for (const char* origin : {"https://console.example", "http://127.0.0.1:3000"})
    arguments.insert(arguments.end(), {"--allow-origin", origin});
  WritProcess writ(arguments);
  ApiClient client(writ.port());
  for (const char* origin : {"https://console.example", "http://127.0.0.1:3000"}) {
    const auto read = client.get("/healthz", {{"Origin", origin}});
    BOOST_TEST(read.status == 200);
    BOOST_TEST(read.header("Access-Control-Allow-Origin") == origin);
  }
  const auto other = client.get("/healthz", {{"Origin", "https://console.example:8443"}});
  BOOST_TEST(other.status == 403);
  BOOST_TEST(other.header("Access-Control-Allow-Origin") == "");
}

BOOST_AUTO_TEST_CASE(this_machine_is_served_under_all_of_its_names) {
  const TestDatabase database;
  WritProcess writ(database);
  ApiClient client(writ.port());
  const std::string port = ":" + std::to_string(writ.port());
  const HttpFields own[] = {
      {{"Host", "localhost" + port}},
      {{"Host", "127.0.0.1" + port}},
      {{"Host", "127.8.9.1"}},
      {{"Host", "[::1]" + port}},
      {{"Host", "localhost" + port}, {"Origin", "http://localhost" + port}},
  };
  for (const HttpFields& headers : own) BOOST_TEST_CONTEXT(headers[0].second)
  BOOST_TEST(client.get("/healthz", headers).status == 200);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
