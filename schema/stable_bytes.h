#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace writ {

/// The binary form of a message, always the same bytes for the same message: maps are sorted.
std::string stable_bytes(const google::protobuf::Message& message);

}  // namespace writ
