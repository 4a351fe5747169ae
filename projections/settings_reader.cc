#include "projections/settings_reader.h"

#include <algorithm>
#include <set>

#include "projections/settings.h"

namespace writ {
namespace {

constexpr std::chrono::milliseconds kLeast{250};  // that a query is given
constexpr std::size_t kMostReads = 32;  // in one query: leaves some of a crowd to the other queries

}  // namespace

std::vector<std::shared_ptr<const StoredSettings>> SettingsReader::fetch(
    const std::vector<std::string>& keys, std::chrono::steady_clock::time_point deadline) {
  const auto mine = std::make_shared<Read>();
  mine->keys = keys;
  run(mine, deadline);
  return std::move(mine->found);
}

SettingsReader::AtHead SettingsReader::fetch_at_head(
    const std::vector<std::string>& keys, std::chrono::steady_clock::time_point deadline) {
  const auto mine = std::make_shared<Read>();
  mine->keys = keys;
  mine->wants_head = true;
  run(mine, deadline);
  return {std::move(mine->found), mine->head};
}

void SettingsReader::run(const std::shared_ptr<Read>& mine,
                         std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  waiting_.push_back(mine);
  bool led = false;  // at least once, however late
  while (!mine->done) {
    if (!mine->begun && free_ > 0 && (!led || std::chrono::steady_clock::now() < deadline)) {
      led = true;
      lead(lock, deadline);
    } else if (mine->woken.wait_until(lock, deadline) == std::cv_status::timeout && !mine->done) {
      std::erase(waiting_, mine);
      mine->given_up = true;
      // It may have been woken to lead.
      if (!waiting_.empty()) waiting_.front()->woken.notify_one();
      throw DeadlineExceeded("the database did not answer in time");
    }
  }
  if (mine->error) std::rethrow_exception(mine->error);
}

/// Runs one query for those who wait longest, and wakes them and the next to lead. It has the time
/// of the caller who leads; who has more waits for another one.
void SettingsReader::lead(std::unique_lock<std::mutex>& lock,
                          std::chrono::steady_clock::time_point deadline) {
  const std::size_t count = std::min(waiting_.size(), kMostReads);
  const std::vector<std::shared_ptr<Read>> reads(
      waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  for (const auto& read : reads) read->begun = true;
  --free_;
  lock.unlock();
  std::exception_ptr error;
  bool late = false;
  const auto until = std::max(deadline, std::chrono::steady_clock::now() + kLeast);
  try {
    const Rows rows = query(reads, until);
    for (const auto& read : reads) hand_out(rows, *read);
  } catch (const DeadlineExceeded&) {
    late = true;
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  lock.lock();
  ++free_;
  for (auto read = reads.rbegin(); read != reads.rend(); ++read) {
    if (late) {
      (*read)->begun = false;
      if (!(*read)->given_up) waiting_.push_front(*read);
    } else {
      (*read)->error = error ? error : (*read)->error;
      (*read)->done = true;
    }
    (*read)->woken.notify_one();
  }
  if (!waiting_.empty()) waiting_.front()->woken.notify_one();
}

SettingsReader::Rows SettingsReader::query(const std::vector<std::shared_ptr<Read>>& reads,
                                           std::chrono::steady_clock::time_point deadline) {
  std::set<std::string> keys;
  bool wants_head = false;
  for (const auto& read : reads) {
    keys.insert(read->keys.begin(), read->keys.end());
    wants_head = wants_head || read->wants_head;
  }
  const SettingsAtHead found = pool_.read(deadline, [&](Connection& connection) {
    const std::vector<std::string> wanted(keys.begin(), keys.end());
    return wants_head ? fetch_settings_at_head(connection, wanted)
                      : SettingsAtHead{fetch_settings(connection, wanted), {}};
  });
  Rows rows;
  rows.head = found.head;
  for (const SettingsRow& row : found.rows) {
    Row& read = rows.by_key[row.key];
    try {
      read.stored = parsed_.parse(row);
    } catch (const CorruptLog&) {
      read.unreadable = std::current_exception();
    }
  }
  return rows;
}

void SettingsReader::hand_out(const Rows& rows, Read& read) {
  read.head = rows.head;
  for (const std::string& key : read.keys) {
    const auto row = rows.by_key.find(key);
    read.found.push_back(row == rows.by_key.end() ? nullptr : row->second.stored);
    if (row != rows.by_key.end() && row->second.unreadable) read.error = row->second.unreadable;
  }
}

}  // namespace writ
