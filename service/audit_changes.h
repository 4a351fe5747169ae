#pragma once

#include <map>
#include <optional>
#include <string>

#include "events/history.h"
#include "schema/leaf_diff.h"
#include "schema/scope.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {

/// A position of a request. Throws out_of_range naming `path` when it is beyond `head`.
Position checked_position(std::uint64_t position, Position head, const std::string& path);

/// A time of a request. Throws out_of_range naming `path` when it is in the future, by more than
/// two clocks may differ; invalid_argument when it is none.
Timestamp checked_time(const google::protobuf::Timestamp& time, const std::string& path);

/// What an event's envelope says under `detail`. Throws CorruptLog.
std::map<std::string, std::string> detail_of(const RecordedEvent& event);

/// Whether an event is told as a change: one of settings, or about the log itself.
bool is_change(const RecordedEvent& event);

/// A change as the API tells it; `org` is echoed in its key. One about the log has no key.
audit::v1::Change to_change(const EventInHistory& one, const std::string& org);

/// Which changes a caller wants, checked.
class ChangeMatcher {
 public:
  /// Throws ConnectError (invalid_argument; out_of_range for a beginning in the future) naming what
  /// is wrong in `filter`.
  explicit ChangeMatcher(const audit::v1::ChangeFilter& filter);

  /// Whether the event itself is wanted: its record, actor and time. The path is up to `keep`.
  bool wants(const RecordedEvent& event) const;
  /// Whether a change that is wanted changed what the filter's path names. One that was erased is
  /// kept: whoever found it by the index of changed settings knows that it did.
  bool keeps(const audit::v1::Change& change) const;

  /// The query by the index that finds the fewest: record, setting, actor, domain, position.
  HistoryQuery query() const;
  bool has_path() const { return !filter_.path().empty(); }

  const audit::v1::ChangeFilter& filter() const { return filter_; }
  std::optional<Timestamp> since() const { return since_; }
  std::optional<Timestamp> until() const { return until_; }

 private:
  bool covers(const ScopeKey& key) const;
  bool covers(const RecordedEvent& event) const;

  audit::v1::ChangeFilter filter_;
  std::optional<ScopeKey> key_;
  PathFilter path_;
  std::optional<Timestamp> since_, until_;
};

/// One page. Throws out_of_range for positions beyond the head. Examines at most 10,000 events, so
/// it may be short, even empty, and have a cursor. `connection` is one for reads; the index of
/// changed paths must be at the head.
audit::v1::ListChangesResponse list_changes(Connection& connection,
                                            const audit::v1::ListChangesRequest& request,
                                            const ChangeMatcher& matcher);

}  // namespace writ
