#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "tools/client/change_filter.h"
#include "tools/client/commands.h"
#include "tools/client/point.h"
#include "tools/client/print.h"
#include "tools/exit_codes.h"
#include "tools/stop_signals.h"

namespace writ::client {
namespace {

using audit::v1::WatchChangesResponse;

constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{5000};
constexpr std::chrono::milliseconds kLook{50};

struct WatchOptions : FilterOptions {
  std::string after;
};

/// One watch over as many connections as it takes.
class Watch {
 public:
  explicit Watch(const WatchOptions& options) : options_(options), api_(connect(options)) {
    *request_.mutable_filter() = change_filter(options);
  }

  /// Until `stop`, an error that trying again does not mend, or nobody reads.
  void run() {
    begin();
    std::cerr << "writ: watching after position " << request_.after_position() << std::endl;
    while (!stopping_) {
      const std::uint64_t seen = request_.after_position();
      if (!watch_once() || stopping_) return;
      pause_ = request_.after_position() > seen ? kFirstPause : std::min(pause_ * 2, kLongestPause);
      std::unique_lock lock(mutex_);
      stopped_.wait_for(lock, pause_, [&] { return stopping_.load(); });
    }
  }

  /// From another thread, again and again until `run` has ended.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stopped_.notify_all();
    api_->stop();
  }

 private:
  /// Says where to begin in words that another connection understands too.
  void begin() {
    if (!options_.after.empty())
      request_.set_after_position(parse_position(options_.after));
    else
      request_.set_after_position(
          api_->call<audit::v1::GetHeadResponse>(audit::v1::GetHeadRequest()).position());
  }

  /// One connection. False when the watch is over.
  bool watch_once() {
    static const std::set<std::string> again = {"unavailable", "resource_exhausted",
                                                "deadline_exceeded", "canceled"};
    bool more = true;
    try {
      api_->stream<WatchChangesResponse>(request_, [&](const WatchChangesResponse& response) {
        more = take(response);
        return more;
      });
      if (more) lost("the server ended the stream");
    } catch (const Refused& e) {
      if (!again.contains(e.refusal().code)) throw;
      lost(e.what());
    } catch (const Unreachable&) {
      // Where it never answered, it is not for us to wait.
      if (!connected_) throw;
      lost("the connection was lost");
    }
    return more;
  }

  bool take(const WatchChangesResponse& response) {
    connected_ = true;
    if (told_lost_) std::cerr << "writ: watching again" << std::endl;
    told_lost_ = false;
    pause_ = kFirstPause;
    if (response.has_change()) {
      if (options_.output == Output::kTable) {
        table_.add(response.change());
        table_.print();
      } else {
        print_message(response.change(), options_.output, first_);
        first_ = false;
      }
    }
    request_.set_after_position(response.position());
    return static_cast<bool>(std::cout) && !stopping_;
  }

  void lost(const std::string& why) {
    if (!told_lost_ && !stopping_)
      std::cerr << "writ: " << why << "; resuming after position " << request_.after_position()
                << std::endl;
    told_lost_ = true;
  }

  const WatchOptions& options_;
  std::unique_ptr<Api> api_;
  audit::v1::WatchChangesRequest request_;
  ChangeTable table_;
  bool connected_ = false, told_lost_ = false, first_ = true;
  std::chrono::milliseconds pause_ = kFirstPause;
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::atomic<bool> stopping_ = false;
};

int watch(const WatchOptions& options) {
  StopSignals signals;
  Watch watch(options);
  std::exception_ptr failure;
  std::atomic<bool> ended = false;
  std::thread thread([&] {
    try {
      watch.run();
    } catch (...) {
      failure = std::current_exception();
    }
    ended = true;
  });
  // A stop that comes while a connection is being made is lost on it, so it is said again.
  while (!ended)
    if (signals.wait(kLook)) {
      watch.stop();
      std::this_thread::sleep_for(kLook);
    }
  thread.join();
  if (failure && !signals.requested()) std::rethrow_exception(failure);
  return kSuccess;
}

}  // namespace

void add_watch(CommandSet& commands) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App& command =
      add_client_command(commands, "watch", "Changes as they happen, until Ctrl-C", options, watch);
  add_filter_options(command, *options);
  command
      .add_option(
          "--after", options->after,
          "From the one after this position on; 0 is all of the history. Else only what comes")
      ->type_name("POSITION");
  command.footer(
      "A connection that is lost is made again, and nothing is missed or told twice.\n"
      "With --output json each change is a line.");
}

}  // namespace writ::client
