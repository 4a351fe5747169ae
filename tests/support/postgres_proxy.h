#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace writ {

/// Stands between a client and the PostgreSQL of WRIT_TEST_POSTGRES on a Unix socket of its own,
/// counts round trips, and cuts connections on demand. Safe to call from any thread.
class PostgresProxy {
 public:
  /// Where one connection is cut, once.
  struct Cut {
    enum class When {
      kBeforeServer,  ///< The request never reaches the server.
      kBeforeClient,  ///< The server has done it and said so; the client never hears of it.
    };
    When when = When::kBeforeServer;
    std::string query;  ///< Of simple queries that end with this; "" is any request.
    int nth = 1;        ///< The nth of those, counted over all connections from the cut before on.
    bool stay_away = false;  ///< Refuse new connections from then on, as `refuse(true)` does.
  };

  PostgresProxy();
  ~PostgresProxy();
  PostgresProxy(const PostgresProxy&) = delete;
  PostgresProxy& operator=(const PostgresProxy&) = delete;

  /// The directory of the socket, for `host=`; the port is 5432.
  const std::string& host() const { return directory_; }

  /// Arms cuts that happen one after the other, instead of those armed before.
  void arm(std::deque<Cut> cuts);
  /// How many of the armed cuts have not happened yet.
  std::size_t pending() const;
  /// While true, new connections are closed as soon as they are made.
  void refuse(bool on);

  std::uint64_t cuts() const;
  /// Simple queries and Syncs that clients have sent: each waits for an answer.
  std::uint64_t round_trips() const;
  std::uint64_t connections() const;

 private:
  struct Link {
    int server = -1;
    bool started = false;                  // its first message, which has no type byte, is through
    bool swallow = false;                  // the server's answer must not reach the client
    std::string from_client, from_server;  // not yet whole
  };

  void work();
  void accept_client();
  bool from_client(int client, Link& link);
  bool from_server(int client, Link& link);
  std::optional<Cut::When> request_seen(char type, const std::string& request);
  void close_link(int client);

  std::string directory_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::map<int, Link> links_;  // by the client's descriptor; of the working thread alone

  mutable std::mutex mutex_;
  std::deque<Cut> armed_;
  bool refuse_ = false;
  std::uint64_t cuts_ = 0, round_trips_ = 0, connections_ = 0;
  std::thread thread_;
};

}  // namespace writ
