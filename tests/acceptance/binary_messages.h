#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "tests/acceptance/json.h"

namespace writ::test {

/// A method of the settings service by name.
const google::protobuf::MethodDescriptor& settings_method(const std::string& name);

/// The deterministic bytes of a message given as JSON, by the Protobuf library's own reader. Throws
/// std::runtime_error when that cannot read it.
std::string to_binary(const google::protobuf::Descriptor& type, const Json& json);
/// A message's bytes as JSON, by the Protobuf library's own writer.
Json from_binary(const google::protobuf::Descriptor& type, const std::string& bytes);

}  // namespace writ::test
