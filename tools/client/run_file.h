#pragma once

#include <string>
#include <vector>

#include "writ/apply/v1/apply.pb.h"

namespace writ::client {

/// What a file about a run says.
struct RunFile {
  flyteidl2::task::RunSpec run_spec;
  std::vector<flyteidl2::core::TaskTemplate> tasks;
  std::vector<std::string> unknown_fields;  ///< Paths of what this program has no place for.
};

/// Reads a run and its tasks: a YAML (or JSON) mapping with `runSpec` and `tasks`, named as in the
/// API's JSON or in its .proto files. What stands where the API wants text is text, with or without
/// quotes, so that `value: 2` is a quantity. Throws UsageError saying what is wrong and where.
RunFile read_run_file(const std::string& text);

}  // namespace writ::client
