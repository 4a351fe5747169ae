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

/// Reads ProtoJSON into `out`, which is cleared first. Takes camelCase and proto field names, enums
/// as name or number, 64-bit integers as string or number, base64 in both alphabets; `null` is
/// absent, but for fields of type google.protobuf.Value; unknown fields are ignored and named.
///
/// Refuses invalid UTF-8, lone surrogates, names given twice in one object (also in ignored ones,
/// and a field under both its names), two members of a oneof, trailing data, out-of-range numbers
/// (an integer of more than 64 bits in any place; write it with an exponent for a double), nesting
/// over 100, an empty text, and an Any of a type that is not linked in. U+0000 in a string is read.
///
/// Never throws for bad input. Safe to call from any thread; a thread keeps buffers for texts up to
/// 64 KiB. Source: the ProtoJSON chapter of the protobuf documentation.
JsonRead read_json(std::string_view json, google::protobuf::Message* out, JsonMode mode);

/// Writes the stable JSON form: camelCase, defaults omitted, 64-bit integers as strings, enums by
/// name (unknown numbers as numbers), map keys sorted by bytes, fields by number, no white space,
/// floating point in the fewest digits that read back as the same number. The same message gives
/// the same bytes, always: this is also the stored and hashed form, so it is frozen. `read_json`
/// reads it back.
///
/// Strings must be UTF-8, which parsed messages are. Throws std::invalid_argument for what has no
/// JSON form: a Timestamp or Duration out of range, a NaN in a google.protobuf.Value, a FieldMask
/// path that is no snake_case, an Any that is malformed or of a type that is not linked in.
/// Thread-safe.
std::string write_json(const google::protobuf::Message& message);

}  // namespace writ
