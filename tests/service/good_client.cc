#include "tests/service/good_client.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "tests/service/raw_client.h"
#include "tests/service/reference_service.h"
#include "tests/support/wait.h"

namespace writ::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kRequestsPerConnection = 8;
constexpr milliseconds kBetweenRequests{2};
constexpr milliseconds kBetweenTries{50};

}  // namespace

GoodClient::GoodClient(std::uint16_t port) : port_(port), thread_([this] { work(); }) {}

GoodClient::~GoodClient() { report(); }

bool GoodClient::gets(std::size_t count) {
  const std::size_t wanted = answers_ + count + 1;  // one may have begun before
  return wait_until([&] { return answers_ >= wanted; });
}

GoodClient::Report GoodClient::report() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
  report_.answers = answers_;
  return report_;
}

void GoodClient::work() {
  std::unique_ptr<RawClient> connection;
  auto wanted_since = steady_clock::now();
  std::size_t on_this_one = 0;
  for (bool go_on = true; go_on;) {
    bool answered = false;
    try {
      if (!connection || on_this_one == kRequestsPerConnection) {
        connection = std::make_unique<RawClient>(port_);
        on_this_one = 0;
      }
      answered = try_once(*connection, answers_);
    } catch (const std::runtime_error&) {  // the connection was refused
    }
    const auto now = steady_clock::now();
    report_.slowest =
        std::max(report_.slowest, std::chrono::duration_cast<milliseconds>(now - wanted_since));
    if (answered) {
      ++answers_;
      ++on_this_one;
    } else {
      connection.reset();
    }
    go_on = pause(answered ? kBetweenRequests : kBetweenTries);
    if (answered) wanted_since = steady_clock::now();
  }
}

bool GoodClient::try_once(RawClient& connection, std::size_t number) {
  const std::string text = R"({"text":"good )" + std::to_string(number) + "\"";
  const RawAnswer answer = connection.exchange(post(kEcho, "application/json", text + "}"));
  if (answer.status == 200 && answer.body.starts_with(text)) return true;
  const bool turned_away = answer.status == 0 || answer.status == 503;
  if (turned_away) ++report_.turned_away;
  if (!turned_away && report_.wrong.empty()) {
    report_.wrong = std::to_string(answer.status) + " " + answer.body;
  }
  return false;
}

// False when it is time to end.
bool GoodClient::pause(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !ended_.wait_for(lock, time, [this] { return ending_; });
}

}  // namespace writ::test
