#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace writ::test {

/// A client that behaves, on a thread of its own: it asks the reference service all the time, on
/// kept connections and on new ones. When it is turned away or its connection is closed it comes
/// back soon, as HTTP wants it.
class GoodClient {
 public:
  explicit GoodClient(std::uint16_t port);
  ~GoodClient();
  GoodClient(const GoodClient&) = delete;
  GoodClient& operator=(const GoodClient&) = delete;

  /// Waits for `count` answers that begin and end from now on; false when they take too long.
  bool gets(std::size_t count);

  /// How it fared.
  struct Report {
    std::size_t answers = 0;
    std::string wrong;  ///< The first answer that was neither right nor 503; "" when there is none.
    std::size_t turned_away = 0;  ///< How often it was told 503, or closed without an answer.
    /// From wanting an answer to having it, all tries together; also of the one it still waits for.
    std::chrono::milliseconds slowest{0};
  };
  /// Ends it.
  Report report();

 private:
  void work();
  bool try_once(class RawClient& connection, std::size_t number);
  bool pause(std::chrono::milliseconds time);

  const std::uint16_t port_;
  std::atomic<std::size_t> answers_{0};
  Report report_;  // of the thread, until it has ended
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace writ::test
