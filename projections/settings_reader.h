#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "events/connection_pool.h"
#include "events/types.h"
#include "projections/parsed_rows.h"

namespace writ {

/// Reads settings rows for many threads. Whoever finds a query free runs one for everybody who
/// waits at that moment, so that under load many reads share a query, and the rows they have in
/// common are parsed once; a lone read runs its own at once. A query begins after the reads that it
/// serves, so each sees every change answered before it.
class SettingsReader {
 public:
  /// At most `queries` run at once, each on a connection of `pool`, which must lend that many.
  SettingsReader(ConnectionPool& pool, std::size_t queries) : pool_(pool), free_(queries) {}

  /// What each of `keys` stores, in their order; null where there is no record. Throws
  /// DeadlineExceeded when there is no answer in time (a quarter of a second may be added, so that
  /// impatient callers do not break off what others wait for), StorageUnavailable, StorageError,
  /// and CorruptLog for a row that cannot be read.
  std::vector<std::shared_ptr<const StoredSettings>> fetch(
      const std::vector<std::string>& keys, std::chrono::steady_clock::time_point deadline);

  /// The same, and the head of the log that it is of: nothing later is in it, everything up to
  /// there is.
  struct AtHead {
    std::vector<std::shared_ptr<const StoredSettings>> stored;
    Position head;
  };
  AtHead fetch_at_head(const std::vector<std::string>& keys,
                       std::chrono::steady_clock::time_point deadline);

 private:
  struct Row {
    std::shared_ptr<const StoredSettings> stored;
    std::exception_ptr unreadable;
  };
  struct Rows {
    std::unordered_map<std::string, Row> by_key;
    Position head;  // when a read wanted it
  };
  struct Read {
    std::vector<std::string> keys;
    bool wants_head = false;
    Position head = {};
    std::vector<std::shared_ptr<const StoredSettings>> found = {};
    std::exception_ptr error = nullptr;
    bool begun = false;
    bool done = false;
    bool given_up = false;
    std::condition_variable woken = {};
  };

  void run(const std::shared_ptr<Read>& mine, std::chrono::steady_clock::time_point deadline);
  void lead(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point deadline);
  Rows query(const std::vector<std::shared_ptr<Read>>& reads,
             std::chrono::steady_clock::time_point deadline);
  static void hand_out(const Rows& rows, Read& read);

  ConnectionPool& pool_;
  ParsedRows parsed_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Read>> waiting_;
  std::size_t free_;  // queries that may still be begun
};

}  // namespace writ
