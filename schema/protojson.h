#pragma once

#include <google/protobuf/message.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// What is wrong with a JSON text: where, and which rule it breaks.
struct JsonError {
  std::string path;  ///< Proto field names joined by dots, `[3]` and `["key"]` for elements; empty
                     ///< at the top.
  std::string rule;  ///< For people, without the path.

  /// `invalid <path>: <rule>`, or `invalid JSON: <rule>` at the top.
  std::string message() const;
};

/// What came of reading a JSON text into a message.
struct JsonRead {
  std::optional<JsonError> error;  ///< Set when the text was refused; the message is then unusable.
  std::vector<std::string> unknown_fields;  ///< Paths of the fields that were ignored, at most 16.
};

/// How strictly enum names are read.
enum class JsonMode {
  kRequest,  ///< From a client: an unknown enum name is an error.
  kStored,   ///< From our own tables: an unknown enum name is read as absent, since a newer server
             ///< wrote it.
};

/// Reads protojson into `out`, which is cleared first. Takes camelCase and proto field names, enums
/// as name or number, 64-bit integers as string or number; `null` is absent; unknown fields are
/// ignored and named. Refuses invalid UTF-8, lone surrogates, duplicate keys (also a field under
/// both its names, and two members of a oneof), trailing data, out-of-range numbers, and nesting
/// over 100. An empty text is an error. Never throws for bad input. Safe to call from any thread.
/// Source: the ProtoJSON rules of the protobuf documentation, design/connect.md.
JsonRead read_json(std::string_view json, google::protobuf::Message* out, JsonMode mode);

/// Writes the stable JSON form: camelCase, defaults omitted, 64-bit integers as strings, enums by
/// name (unknown numbers as numbers), map keys sorted by bytes, fields by number, no white space.
/// The same message gives the same bytes, always: this is also the stored and hashed form, so it is
/// frozen.
std::string write_json(const google::protobuf::Message& message);

}  // namespace writ
