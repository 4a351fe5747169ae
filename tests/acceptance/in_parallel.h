#pragma once

#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace writ::test {

/// Runs `work(0)` … `work(count - 1)`, each on a thread of its own, and waits for all of them.
/// Throws the first exception that one of them ended with. Boost.Test's checks are for one thread
/// only, so work that finds a fault throws.
template <typename Work>
void in_parallel(int count, Work work) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

/// Throws std::runtime_error(what) unless `holds`.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace writ::test
