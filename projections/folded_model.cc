#include "projections/folded_model.h"

namespace writ {
namespace {

// The index is read in order, without the log: some 25 entries for each stream that is asked for.
// Where that ends within a stream, however long, one probe finds the stream's last event.
constexpr char kEndsOfStreams[] = R"sql(
WITH seen AS MATERIALIZED (
  SELECT stream, min(position) AS first, max(position) AS last, count(*) AS events
  FROM (SELECT stream, position FROM events
        WHERE stream > $1 AND stream < $2 AND position <= $4::bigint
        ORDER BY stream, position LIMIT 25 * $3::bigint) entries
  GROUP BY stream ORDER BY stream LIMIT $3::bigint
), cut AS MATERIALIZED (
  SELECT max(stream) AS stream FROM seen HAVING sum(events) = 25 * $3::bigint
), streams AS MATERIALIZED (
  SELECT seen.stream, first, coalesce(longer.position, last) AS last,
         coalesce(longer.version, events) AS events
  FROM seen LEFT JOIN LATERAL (
    SELECT position, version FROM events
    WHERE seen.stream = (SELECT stream FROM cut) AND events.stream = seen.stream
      AND position <= $4::bigint
    ORDER BY position DESC LIMIT 1) longer ON true
), ends AS (
  SELECT e.stream, streams.first AS first_position,
         (SELECT recorded_at FROM events WHERE position = streams.first) AS first_recorded_at,
         e.position, e.version, e.type, e.recorded_at, e.payload
  FROM streams CROSS JOIN LATERAL (
    SELECT position, stream, version, type, recorded_at, payload
    FROM events WHERE position = streams.last LIMIT 1) e
), fold AS ()sql";

constexpr char kTold[] = R"sql( ends)
SELECT max(stream), coalesce(sum(events), 0),
       count(*) < $3::bigint AND NOT EXISTS (SELECT FROM cut) FROM streams)sql";

}  // namespace

std::string fold_of_streams(const FoldedModel& model) {
  std::string sql = kEndsOfStreams;
  sql += model.rows_sql;
  return sql += kTold;
}

std::string end_of_prefix(const std::string& prefix) {
  std::string end = prefix;
  ++end.back();
  return end;
}

}  // namespace writ
