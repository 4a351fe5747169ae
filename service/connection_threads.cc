#include "service/connection_threads.h"

#include <chrono>
#include <utility>

namespace writ {
namespace {

constexpr std::chrono::seconds kIdleTime{5};

}  // namespace

ConnectionThreads::ConnectionThreads(std::size_t stack_bytes) {
  pthread_attr_init(&attributes_);
  pthread_attr_setstacksize(&attributes_, stack_bytes);
}

ConnectionThreads::~ConnectionThreads() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  job_there_.notify_all();
  thread_ended_.wait(lock, [this] { return alive_ == 0; });
  const std::vector<pthread_t> ended = std::exchange(ended_, {});
  lock.unlock();
  join_ended(ended);
  pthread_attr_destroy(&attributes_);
}

bool ConnectionThreads::run(std::function<void()> job) {
  std::unique_lock lock(mutex_);
  const std::vector<pthread_t> ended = std::exchange(ended_, {});
  bool taken = true;
  if (idle_ > jobs_.size()) {
    jobs_.push_back(std::move(job));
    job_there_.notify_one();
  } else {
    jobs_.push_back(std::move(job));
    pthread_t thread{};
    taken = pthread_create(&thread, &attributes_, &ConnectionThreads::enter, this) == 0;
    if (taken) {
      ++alive_;
    } else {
      jobs_.pop_back();
    }
  }
  lock.unlock();
  join_ended(ended);
  return taken;
}

void* ConnectionThreads::enter(void* self) {
  static_cast<ConnectionThreads*>(self)->work();
  return nullptr;
}

void ConnectionThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (jobs_.empty()) {
      ++idle_;
      job_there_.wait_for(lock, kIdleTime, [this] { return !jobs_.empty() || closing_; });
      --idle_;
      if (jobs_.empty()) break;
    }
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
  ended_.push_back(pthread_self());
  --alive_;
  thread_ended_.notify_all();
}

void ConnectionThreads::join_ended(const std::vector<pthread_t>& ended) {
  for (const pthread_t thread : ended) pthread_join(thread, nullptr);
}

}  // namespace writ
