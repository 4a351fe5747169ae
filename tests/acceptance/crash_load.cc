#include "tests/acceptance/crash_load.h"

#include <random>

#include "tests/acceptance/in_parallel.h"

namespace writ::test {
namespace {

void raise(std::atomic<long>& value, long to) {
  long seen = value;
  while (seen < to && !value.compare_exchange_weak(seen, to)) {
  }
}

/// Answers that promise that there was no effect.
bool is_rejection(const std::string& code) {
  return code == "failed_precondition" || code == "already_exists" || code == "not_found" ||
         code == "invalid_argument" || code == "resource_exhausted";
}

}  // namespace

Json CrashLoad::key(int record) {
  return key_json("d" + std::to_string(record % 2), "p" + std::to_string(record));
}

void CrashLoad::run(int round, std::uint16_t port) {
  accepted_ = 0;
  in_parallel(kThreads, [&](int thread) { work(round, thread, port); });
}

SentWrite CrashLoad::next(const std::string& id, int record, bool stale) const {
  const long version = versions_[record];
  SentWrite write{id, "CreateSettings", create_json(key(record), queue_settings(id)), record};
  if (version > 0) {
    write.method = "UpdateSettings";
    write.request["version"] = std::to_string(stale ? version - 1 : version);
  }
  return write;
}

void CrashLoad::work(int round, int thread, std::uint16_t port) {
  ApiClient client(port);
  std::mt19937 random(static_cast<unsigned>(round * 100 + thread));
  std::vector<SentWrite> mine;
  for (int n = 0;; ++n) {
    const std::string id = "r" + std::to_string(round) + "-t" + std::to_string(thread) + "-n" +
                           std::to_string(n);
    const int record = static_cast<int>(random() % kRecords);
    SentWrite write = next(id, record, random() % 10 == 0 && versions_[record] > 1);
    const auto answer = client.call(write.method, write.request, {{"Idempotency-Key", id}});
    if (answer.status == 200) {
      write.fate = SentWrite::Fate::kAccepted;
      write.version = answer.version();
      raise(versions_[record], write.version);
      ++accepted_;
    } else if (is_rejection(answer.code())) {
      write.fate = SentWrite::Fate::kRejected;
      // A creation that lost a race, or an earlier write whose answer never came.
      const Json request = Json::object({{"key", key(record)}});
      const auto read = client.call("GetSettingsForEdit", request);
      if (read.status == 200) {
        const Json body = read.json();
        if (const Json* version = body.at("levels").elements().back().find("version"))
          raise(versions_[record], std::stol(version->text()));
      }
    }
    mine.push_back(std::move(write));
    if (answer.status == 0) break;
  }
  const std::lock_guard lock(mutex_);
  sent_.insert(sent_.end(), mine.begin(), mine.end());
}

}  // namespace writ::test
