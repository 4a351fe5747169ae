#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/acceptance/api_client.h"

namespace writ::test {

/// What a watch has told so far.
struct Watched {
  bool begun = false;                ///< Anything came.
  std::vector<long> positions;       ///< Of the changes.
  std::vector<std::string> changes;  ///< The messages with them, as they came.
  long resume = 0;                   ///< The last position that anything named.
  std::string code, message;         ///< How the server ended it; "" without an error.
};

/// A call of WatchChanges that goes on beside the test, until it is stopped or ends by itself.
class Watch {
 public:
  /// `after` -1 is "only what comes".
  Watch(std::uint16_t port, long after, Json filter = Json::object(),
        const HttpFields& headers = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  using Condition = std::function<bool(const Watched&)>;
  /// Waits until what was told is `enough`. False when it is not although the watch is over or a
  /// minute has passed.
  bool until(const Condition& enough);
  /// Waits until its first message is here: what changes from now on is told.
  bool begins() {
    return until([](const Watched& told) { return told.begun; });
  }
  /// What was told so far.
  Watched so_far() const;
  bool over() const;

  /// Reads nothing more until `go_on`, but for one message each time that `take_one` says so.
  void pause() { set_paused(true); }
  void take_one();
  void go_on() { set_paused(false); }

  /// Waits until the server has ended it, not for ever, and answers all that it told.
  Watched end();
  /// Breaks it off, wherever it is, and answers what it told. Both throw what taking it in threw.
  Watched stop();

 private:
  struct Over;

  void break_off();
  bool take(std::string_view bytes);
  void take_message(std::uint8_t flags, std::string text);
  void set_paused(bool paused);

  ApiClient client_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool paused_ = false, over_ = false;
  std::size_t allowed_ = 0;  // messages to take although it is paused
  std::string rest_;         // not yet a whole message
  Watched told_;
  std::future<void> running_;
};

}  // namespace writ::test
