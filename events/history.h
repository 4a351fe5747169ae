#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "events/connection.h"
#include "events/event.h"

namespace writ {

/// The head of the log. Throws CorruptLog when there is none.
LogHead read_head(Connection& connection);

/// An event with the content of its stream before it.
struct EventInHistory {
  RecordedEvent event;
  Position previous;                            ///< 0 for the first of its stream.
  std::optional<std::string> previous_payload;  ///< Empty for the first, and once erased.
};

/// Which way a page goes through the log.
enum class Order { kNewestFirst, kOldestFirst };

/// Events between two positions, both included, that one index finds in their order.
struct HistoryQuery {
  enum class By {
    kPosition,     ///< All there are.
    kStream,       ///< `values[0]` is the stream.
    kActor,        ///< `values[0]` is the actor.
    kDomain,       ///< `values[0]` is the domain: its record and those of its projects.
    kPaths,        ///< That changed one of the settings `values`.
    kStreamPaths,  ///< That changed one of the settings `values` in the stream `stream`.
  };
  By by = By::kPosition;
  std::vector<std::string> values;
  std::string stream;
  Position from, to;
  Order order = Order::kNewestFirst;
  std::size_t limit = 0;
};
std::vector<EventInHistory> read_history(Connection& connection, const HistoryQuery& query);

/// The statement that read_history runs, for a test of its plan.
std::string history_sql(HistoryQuery::By by, Order order);

/// The newest event of each of `streams` at `position`; nothing where there was none yet.
std::vector<std::optional<RecordedEvent>> read_states(Connection& connection,
                                                      const std::vector<std::string>& streams,
                                                      Position position);

/// The event at a position that is not beyond the head, with all its columns. Throws CorruptLog
/// when it is missing.
RecordedEvent read_event(Connection& connection, Position position);

/// The events at `positions`, the text of an array, in their order.
std::vector<RecordedEvent> read_events(Connection& connection, const std::string& positions);

/// The position of one version of a stream.
std::optional<Position> position_of_version(Connection& connection, const std::string& stream,
                                            StreamVersion version);

/// The last position recorded at or before `time`; 0 when there is none. One round trip, O(log n)
/// probes.
Position position_at(Connection& connection, Timestamp time);

}  // namespace writ
