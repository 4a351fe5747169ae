#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "writ/audit/v1/audit.pb.h"

namespace writ::client {

/// The words that --help has for what these take.
inline constexpr char kPointForms[] =
    "a position (12), a version of the record (v3), a time (2026-11-30T06:50:33Z, 2026-11-30), or "
    "how long ago (15m, 2h, 7d)";
inline constexpr char kTimeForms[] =
    "a time (2026-11-30T06:50:33Z, 2026-11-30) or how long ago (15m, 2h, 7d)";

/// A point in the history as people write it; `now` is now. Throws UsageError.
audit::v1::Point parse_point(const std::string& text);

/// Throws UsageError.
google::protobuf::Timestamp parse_time(const std::string& text);

/// A position; throws UsageError.
std::uint64_t parse_position(const std::string& text);

}  // namespace writ::client
