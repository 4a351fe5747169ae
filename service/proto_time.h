#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "events/types.h"

namespace writ {

/// The API's form of a time.
google::protobuf::Timestamp to_proto(Timestamp time);

/// A time as the log keeps it, cut to microseconds. Throws ConnectError (invalid_argument) naming
/// `path` when it is no time of the years 1 to 9999.
Timestamp from_proto(const google::protobuf::Timestamp& time, const std::string& path);

}  // namespace writ
