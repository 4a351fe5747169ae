#include "service/http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "service/connection_threads.h"
#include "service/http_connection.h"

namespace writ {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kBacklog = 1024;
// Of each connection, so that the system keeps no megabytes for whoever does not read; it doubles
// this.
constexpr int kSendBuffer = 256 * 1024;
// Evicted connections that are not gone yet, beyond the limit.
constexpr std::size_t kLeaving = 64;
constexpr milliseconds kRefusedLinger{500};
constexpr std::size_t kMostRefused = 128;
constexpr milliseconds kOutOfFiles{20};

std::string peer_text(const sockaddr_storage& name) {
  char text[INET6_ADDRSTRLEN] = "";
  if (name.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(name).sin6_addr;
    inet_ntop(AF_INET6, &v6, text, sizeof text);
    if (IN6_IS_ADDR_V4MAPPED(&v6)) return std::string(text).substr(std::strlen("::ffff:"));
  } else {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(name).sin_addr, text, sizeof text);
  }
  return text;
}

// Connections that were told 503 and wait a moment, so that the answer is read before the reset
// comes.
class Refused {
 public:
  ~Refused() {
    for (const Entry& entry : entries_) close(entry.fd);
  }
  void add(int fd, const std::string& answer) {
    if (send(fd, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      close(fd);
      return;
    }
    shutdown(fd, SHUT_WR);
    if (entries_.size() == kMostRefused) drop_oldest();
    entries_.push_back({fd, steady_clock::now() + kRefusedLinger});
  }
  // Closes those whose time has come; returns how long poll may wait, -1 for ever.
  int sweep() {
    while (!entries_.empty() && entries_.front().until <= steady_clock::now()) drop_oldest();
    return entries_.empty() ? -1 : static_cast<int>(kRefusedLinger.count());
  }

 private:
  struct Entry {
    int fd;
    Deadline until;
  };
  void drop_oldest() {
    char dropped[4096];
    while (recv(entries_.front().fd, dropped, sizeof dropped, MSG_DONTWAIT) > 0) {
    }
    close(entries_.front().fd);
    entries_.pop_front();
  }
  std::deque<Entry> entries_;
};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpServerOptions options, HttpHandler handler)
      : environment_(std::move(options), std::move(handler)),
        address_(environment_.options.listen),
        threads_(environment_.options.stack_bytes) {
    environment_.short_of_memory = [this] { evict_late_bodies(); };
  }

  void start() {
    listener_ = open_listener(address_, kBacklog);
    setsockopt(listener_, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    acceptor_ = std::thread([this] { accept_connections(); });
  }

  const ListenAddress& address() const { return address_; }

  void stop(milliseconds grace) {
    const std::lock_guard once(stop_mutex_);
    if (!acceptor_.joinable()) return;
    environment_.stopping.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
    acceptor_.join();
    close(wake_);

    std::unique_lock lock(mutex_);
    for (HttpConnection* connection : connections_) {
      const HttpConnection::Phase phase = connection->phase();
      if (phase == HttpConnection::Phase::kIdle || phase == HttpConnection::Phase::kReadingHead) {
        connection->evict();
      }
    }
    if (!all_gone_.wait_for(lock, grace, [this] { return connections_.empty(); })) {
      for (HttpConnection* connection : connections_) connection->abort();
      all_gone_.wait(lock, [this] { return connections_.empty(); });
    }
  }

  HttpServerState state() const {
    const std::lock_guard lock(mutex_);
    HttpServerState state = counts_;
    state.connections = connections_.size();
    for (const HttpConnection* connection : connections_) {
      state.idle += connection->phase() == HttpConnection::Phase::kIdle ? 1 : 0;
    }
    state.streams = environment_.streams.load();
    state.body_memory = environment_.memory.used();
    return state;
  }

 private:
  void accept_connections() {
    Refused refused;
    bool out_of_files = false;
    while (true) {
      pollfd entries[2] = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
      const int wait = refused.sweep();
      if (out_of_files) {
        poll(entries, 1, static_cast<int>(kOutOfFiles.count()));
      } else {
        poll(entries, 2, wait);
      }
      if (environment_.stopping.load()) break;
      out_of_files = !accept_waiting(refused);
    }
    close(listener_);
  }

  // False when the process has no file descriptor left.
  bool accept_waiting(Refused& refused) {
    while (true) {
      sockaddr_storage name{};
      socklen_t size = sizeof name;
      const int fd = accept4(listener_, reinterpret_cast<sockaddr*>(&name), &size, SOCK_CLOEXEC);
      if (fd >= 0) {
        admit(fd, peer_text(name), refused);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        const std::lock_guard lock(mutex_);
        evict_one();
        return false;
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return true;
      }
      // Anything else is about that one connection, not about us.
      if (environment_.stopping.load()) return true;
    }
  }

  void admit(int fd, std::string peer, Refused& refused) {
    std::unique_lock lock(mutex_);
    ++counts_.accepted;
    if (!make_place()) {
      ++counts_.turned_away;
      lock.unlock();
      refused.add(fd, busy_answer(environment_));
      return;
    }
    auto* const connection = new HttpConnection(fd, std::move(peer), environment_);
    connections_.insert(connection);
    lock.unlock();
    if (threads_.run([this, connection] { serve(connection); })) return;
    refused.add(dup(fd), busy_answer(environment_));
    remove(connection);
  }

  void serve(HttpConnection* connection) {
    connection->serve();
    remove(connection);
  }

  void remove(HttpConnection* connection) {
    {
      const std::lock_guard lock(mutex_);
      connections_.erase(connection);
      if (connections_.empty()) all_gone_.notify_all();
    }
    delete connection;
  }

  bool make_place() {
    const std::size_t limit = environment_.options.max_connections;
    if (connections_.size() < limit) return true;
    std::size_t staying = 0;
    for (const HttpConnection* connection : connections_) staying += connection->evicted() ? 0 : 1;
    if (staying < limit) return connections_.size() < limit + kLeaving;
    return connections_.size() < limit + kLeaving && evict_one();
  }

  // Closes the one with the least at stake; of several, one of the peer that crowds the others out,
  // and of those whoever has kept us waiting for longest. False when nobody may go.
  bool evict_one() {
    using Claim = std::tuple<HttpConnection::Stake, bool, Deadline>;
    const Deadline now = steady_clock::now();
    const std::string crowding = crowding_peer();
    HttpConnection* least = nullptr;
    Claim least_claim{HttpConnection::Stake::kAll, false, Deadline{}};
    for (HttpConnection* connection : connections_) {
      if (connection->evicted()) continue;
      const Claim claim{connection->stake(now), connection->peer() != crowding,
                        connection->waiting_since()};
      if (claim >= least_claim) continue;
      least = connection;
      least_claim = claim;
    }
    if (least == nullptr) return false;
    least->evict();
    ++counts_.evicted;
    return true;
  }

  // The peer that holds more than half of all places; "" when none does.
  std::string crowding_peer() const {
    std::unordered_map<std::string_view, std::size_t> places;
    for (const HttpConnection* connection : connections_) {
      if (connection->evicted()) continue;
      if (++places[connection->peer()] > environment_.options.max_connections / 2) {
        return connection->peer();
      }
    }
    return "";
  }

  void evict_late_bodies() {
    const std::lock_guard lock(mutex_);
    const Deadline now = steady_clock::now();
    for (HttpConnection* connection : connections_) {
      if (connection->phase() != HttpConnection::Phase::kReadingBody || connection->evicted() ||
          !connection->late(now)) {
        continue;
      }
      connection->evict();
      ++counts_.evicted;
    }
  }

  ConnectionEnvironment environment_;
  ListenAddress address_;
  int listener_ = -1;
  int wake_ = -1;
  std::thread acceptor_;
  std::mutex stop_mutex_;

  mutable std::mutex mutex_;
  std::condition_variable all_gone_;
  std::unordered_set<HttpConnection*> connections_;
  HttpServerState counts_;
  ConnectionThreads threads_;  // last: its threads use the rest
};

HttpServer::HttpServer(HttpServerOptions options, HttpHandler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}

HttpServer::~HttpServer() { stop(milliseconds(0)); }

void HttpServer::start() { impl_->start(); }
const ListenAddress& HttpServer::address() const { return impl_->address(); }
void HttpServer::stop(milliseconds grace) { impl_->stop(grace); }
HttpServerState HttpServer::state() const { return impl_->state(); }

}  // namespace writ
