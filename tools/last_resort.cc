#include "tools/last_resort.h"

#include <cstdlib>
#include <iostream>

#include "tools/exit_codes.h"

namespace writ {

void LastResort::arm(std::chrono::milliseconds time) {
  thread_ = std::thread([this, time] {
    std::unique_lock lock(mutex_);
    if (over_.wait_for(lock, time, [this] { return done_; })) return;
    std::cerr << "writ: the database does not answer; stopped without waiting for it" << std::endl;
    std::_Exit(kFailure);
  });
}

LastResort::~LastResort() {
  {
    const std::scoped_lock lock(mutex_);
    done_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace writ
