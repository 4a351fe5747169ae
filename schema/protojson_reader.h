#pragma once

#include <google/protobuf/message.h>
#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schema/protojson.h"
#include "schema/protojson_path.h"
#include "schema/protojson_types.h"

namespace writ::protojson {

namespace pb = google::protobuf;
namespace dom = simdjson::dom;

inline constexpr std::size_t kMaxUnknownFields = 16;

/// Whether the value of a field was stored, or is to be left out as if it had not been there.
enum class Outcome { kStored, kSkipped, kRefused };

/// Reads one parsed text into messages. Every `read_…` stores nothing more once something was
/// refused.
class Reader {
 public:
  Reader(JsonMode mode, JsonRead* result) : mode_(mode), result_(result) {}

  bool read_message(dom::element in, const MessageType& type, pb::Message* out, const Path& path);

 private:
  bool read_fields(dom::object in, const MessageType& type, pb::Message* out, const Path& path,
                   std::string_view skipped_name);
  bool read_field(dom::element in, const Field& field, pb::Message* out, const Path& path);
  bool read_array(dom::element in, const Field& field, pb::Message* out, const Path& path);
  bool read_map(dom::element in, const Field& field, pb::Message* out, const Path& path);
  bool read_map_key(std::string_view in, const Field& field, pb::Message* entry, const Path& path);
  /// Sets a singular field, or adds an element to a repeated one.
  Outcome read_value(dom::element in, const Field& field, pb::Message* out, const Path& path);
  Outcome read_number(dom::element in, const Field& field, pb::Message* out, const Path& path);
  Outcome read_text(dom::element in, const Field& field, pb::Message* out, const Path& path);
  Outcome read_enum(dom::element in, const Field& field, pb::Message* out, const Path& path);

  bool read_any(dom::element in, const MessageType& type, pb::Message* out, const Path& path);
  /// Reads the "value" of an Any that holds a type with a JSON form of its own.
  bool read_any_value(dom::object in, const MessageType& type, pb::Message* out, const Path& path);
  bool read_value_message(dom::element in, const MessageType& type, pb::Message* out,
                          const Path& path);
  bool read_time(dom::element in, const MessageType& type, pb::Message* out, const Path& path);
  bool read_field_mask(dom::element in, const MessageType& type, pb::Message* out,
                       const Path& path);

  /// Refuses keys that stand twice in one object; `unknown` ones also in all that they hold.
  bool check_unique(dom::object in, const Path& path);
  bool check_unique_deep(dom::element in, const Path& path);
  void note_ignored(const Path& path) {
    auto& fields = result_->unknown_fields;
    if (fields.size() < kMaxUnknownFields) fields.push_back(path.to_string());
  }
  bool refuse(const Path& path, std::string rule) {
    result_->error = JsonError{path.to_string(), std::move(rule)};
    return false;
  }
  Outcome refuse_value(const Path& path, std::string rule) {
    refuse(path, std::move(rule));
    return Outcome::kRefused;
  }

  JsonMode mode_;
  JsonRead* result_;
};

/// The text of a JSON string; nothing for every other value.
std::optional<std::string_view> as_text(dom::element in);

}  // namespace writ::protojson
