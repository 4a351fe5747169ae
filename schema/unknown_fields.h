#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace writ {

/// Paths of the fields in a binary message that this program does not know, by number:
/// `settings.run.17`. At most 16.
std::vector<std::string> unknown_fields(const google::protobuf::Message& message);

}  // namespace writ
