// One write alone, at the sequencer, against the least a durable write can cost on the same
// cluster: a prepared one-row INSERT into a table equal to `events`, committed by itself. Five
// alternating rounds, medians.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "events/connection.h"
#include "events/migrator.h"
#include "events/sequencer.h"
#include "service/settings_commands.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kPayload[] =
    R"({"run":{"defaultQueue":{"state":"SETTING_STATE_VALUE","stringValue":"default"}}})";

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double micros_each(int count, const std::function<void(int)>& act) {
  const auto begun = Clock::now();
  for (int i = 0; i < count; ++i) act(i);
  return std::chrono::duration<double, std::micro>(Clock::now() - begun).count() / count;
}

writ::Command command(const std::string& project, std::int64_t version) {
  using Kind = writ::SettingsCommand::Kind;
  writ::Command one;
  one.domain = writ::kSettingsDomain;
  one.body = writ::SettingsCommand{
      version == 0 ? Kind::kCreate : Kind::kUpdate, {"bench", project}, kPayload, {version}};
  one.bytes = sizeof kPayload;
  one.actor = "bench";
  one.request_id = "bench-1";
  return one;
}

void run(const std::string& conninfo, int count, int rounds) {
  writ::SequencerOptions options;
  options.conninfo = writ::with_session_settings(conninfo);
  writ::Sequencer sequencer(options, {writ::settings_domain()});
  writ::Connection plain(options.conninfo);
  plain.exec(
      "DROP TABLE IF EXISTS writ_build.one_commit; CREATE TABLE writ_build.one_commit (LIKE "
      "writ.events "
      "INCLUDING ALL)");
  plain.prepare(
      "insert",
      "INSERT INTO writ_build.one_commit VALUES ($1::bigint, $2, $3::bigint, 'settings.updated', "
      "now(), 'bench', '',"
      " 'bench-1', gen_random_uuid(), $4, decode(repeat('11', 32), 'hex'), repeat('e', 430),"
      " decode(repeat('11', 32), 'hex'))");

  const std::string project = writ::random_uuid();
  sequencer.submit(command(project, 0));
  std::int64_t version = 1;
  int position = 0;
  const auto write = [&](int) {
    sequencer.submit(command(project, version));
    ++version;
  };
  const auto insert = [&](int) {
    ++position;
    plain.exec_prepared("insert", std::to_string(position), "settings/v1::bench:" + project,
                        std::to_string(position), std::string(kPayload));
  };
  micros_each(count / 5, write);
  micros_each(count / 5, insert);
  std::vector<double> writes, inserts;
  for (int round = 0; round < rounds; ++round) {
    writes.push_back(micros_each(count, write));
    inserts.push_back(micros_each(count, insert));
    std::printf("round %d: sequencer %.0f us, one-row commit %.0f us\n", round + 1, writes.back(),
                inserts.back());
  }
  plain.exec("DROP TABLE writ_build.one_commit");
  std::printf("median: sequencer %.0f us, one-row commit %.0f us, ratio %.2f (at most 3)\n",
              median(writes), median(inserts), median(writes) / median(inserts));
}

}  // namespace

int main(int argc, char** argv) {
  std::string conninfo;
  int count = 1000;
  int rounds = 5;
  CLI::App app("One write at the sequencer against a one-row commit");
  app.add_option("--conninfo", conninfo, "a migrated database, as writ_app")->required();
  app.add_option("--count", count, "writes a round");
  app.add_option("--rounds", rounds);
  CLI11_PARSE(app, argc, argv);
  try {
    run(conninfo, count, rounds);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sequencer_bench: %s\n", e.what());
    return 1;
  }
  return 0;
}
