#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace writ {

/// Threads with small stacks that run one job each at a time, started when no idle one is there and
/// ended after a while without work. The caller bounds the number of jobs.
class ConnectionThreads {
 public:
  explicit ConnectionThreads(std::size_t stack_bytes);
  /// Waits for all jobs.
  ~ConnectionThreads();
  ConnectionThreads(const ConnectionThreads&) = delete;
  ConnectionThreads& operator=(const ConnectionThreads&) = delete;

  /// Runs the job on a thread of its own. False when the system gives no more threads.
  [[nodiscard]] bool run(std::function<void()> job);

 private:
  static void* enter(void* self);
  void work();
  void join_ended(const std::vector<pthread_t>& ended);

  pthread_attr_t attributes_;
  std::mutex mutex_;
  std::condition_variable job_there_;
  std::condition_variable thread_ended_;
  std::deque<std::function<void()>> jobs_;
  std::vector<pthread_t> ended_;  // to be joined
  std::size_t idle_ = 0;
  std::size_t alive_ = 0;
  bool closing_ = false;
};

}  // namespace writ
