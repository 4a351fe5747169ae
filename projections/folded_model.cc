#include "projections/folded_model.h"

namespace writ {
namespace {

// Three probes a stream, however long it is. Of the events of a stream a fold wants to know the
// first, for when it began, and the last; of the first not what it said.
constexpr char kEndsOfStreams[] = R"sql(
WITH RECURSIVE next (stream) AS (
  (SELECT stream FROM events WHERE stream > $1 AND stream < $2 ORDER BY stream LIMIT 1)
  UNION ALL
  SELECT (SELECT e.stream FROM events e WHERE e.stream > next.stream AND e.stream < $2
          ORDER BY e.stream LIMIT 1)
  FROM next WHERE next.stream IS NOT NULL
), streams AS MATERIALIZED (
  SELECT stream FROM next WHERE stream IS NOT NULL LIMIT $3::bigint
), last AS MATERIALIZED (
  SELECT e.* FROM streams CROSS JOIN LATERAL (
    SELECT position, stream, version, type, recorded_at, payload
    FROM events WHERE events.stream = streams.stream AND position <= $4::bigint
    ORDER BY position DESC LIMIT 1) e
), batch AS MATERIALIZED (
  SELECT * FROM last
  UNION ALL
  SELECT e.position, e.stream, e.version, e.type, e.recorded_at, NULL
  FROM last CROSS JOIN LATERAL (
    SELECT position, stream, version, type, recorded_at
    FROM events WHERE events.stream = last.stream AND version = 1 LIMIT 1) e
  WHERE last.version > 1
), fold AS ()sql";

constexpr char kTold[] = R"sql()
SELECT (SELECT max(stream) FROM streams), (SELECT count(*) FROM streams),
       (SELECT coalesce(sum(version), 0) FROM last))sql";

}  // namespace

std::string fold_of_streams(const InlineProjection& projection) {
  std::string sql = kEndsOfStreams;
  sql += projection.fold_sql;
  return sql += kTold;
}

std::string end_of_prefix(const std::string& prefix) {
  std::string end = prefix;
  ++end.back();
  return end;
}

}  // namespace writ
