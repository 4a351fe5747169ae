#include "tests/acceptance/crash_load.h"

#include <random>

#include "tests/acceptance/in_parallel.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

void raise(std::atomic<long>& value, long to) {
  long seen = value;
  while (seen < to && !value.compare_exchange_weak(seen, to)) {
  }
}

/// Every other error promises that there was no effect.
bool is_unknown(const HttpAnswer& answer) {
  return answer.status == 0 || answer.code() == "unavailable" ||
         answer.code() == "deadline_exceeded";
}

long version_of(ApiClient& client, int record) {
  const auto read =
      client.call("GetSettingsForEdit", Json::object({{"key", CrashLoad::key(record)}}));
  if (read.status != 200) return 0;
  const Json body = read.json();
  const Json* version = body.at("levels").elements().back().find("version");
  return version == nullptr ? 0 : std::stol(version->text());
}

}  // namespace

Json CrashLoad::key(int record) {
  return key_json("d" + std::to_string(record % 2), "p" + std::to_string(record));
}

void CrashLoad::begin() {
  accepted_ = 0;
  stopping_ = false;
}

void CrashLoad::run(int round, std::uint16_t port) {
  in_parallel(kThreads, [&](int thread) { work(round, thread, port); });
}

HttpAnswer CrashLoad::send(ApiClient& client, const SentWrite& write) {
  return client.call(write.method, write.request,
                     write.keyed ? HttpFields{{"Idempotency-Key", write.id}} : HttpFields{});
}

SentWrite CrashLoad::next(const std::string& id, bool keyed, int record, bool stale) const {
  const long version = versions_[record];
  SentWrite write{id, keyed, "CreateSettings", create_json(key(record), queue_settings(id)),
                  record};
  if (version > 0) {
    write.method = "UpdateSettings";
    write.request["version"] = std::to_string(stale ? version - 1 : version);
  }
  return write;
}

bool CrashLoad::note(SentWrite& write, const HttpAnswer& answer) {
  if (is_unknown(answer)) return false;
  write.fate = SentWrite::Fate::kRejected;
  if (answer.status != 200) return true;
  write.fate = SentWrite::Fate::kAccepted;
  write.version = answer.version();
  raise(versions_[write.record], write.version);
  ++accepted_;
  return true;
}

void CrashLoad::work(int round, int thread, std::uint16_t port) {
  ApiClient client(port);
  std::mt19937 random(static_cast<unsigned>(round * 100 + thread));
  std::vector<SentWrite> mine;
  for (int n = 0; !stopping_; ++n) {
    const std::string id =
        "r" + std::to_string(round) + "-t" + std::to_string(thread) + "-n" + std::to_string(n);
    const int record = static_cast<int>(random() % kRecords);
    const bool stale = random() % 10 == 0 && versions_[record] > 1;
    SentWrite& write = mine.emplace_back(next(id, random() % 4 != 0, record, stale));
    const auto answer = send(client, write);
    const bool told = note(write, answer);
    if (answer.status == 0) break;
    // A lost race, or an earlier write whose answer never came.
    if (write.fate == SentWrite::Fate::kRejected)
      raise(versions_[record], version_of(client, record));
    if (!told)
      wait_until([&] { return stopping_ || client.get("/readyz").status != 503; },
                 std::chrono::seconds(60));
  }
  const std::lock_guard lock(mutex_);
  sent_.insert(sent_.end(), mine.begin(), mine.end());
}

}  // namespace writ::test
