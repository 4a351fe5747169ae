#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "schema/base64.h"
#include "schema/json_output.h"
#include "schema/protojson.h"
#include "schema/protojson_text.h"
#include "schema/protojson_types.h"

namespace writ {
namespace protojson {
namespace {

namespace pb = google::protobuf;

[[noreturn]] void refuse(const pb::Message& message) {
  throw std::invalid_argument("a " + message.GetTypeName() + " has no JSON form");
}

class MessageWriter {
 public:
  explicit MessageWriter(std::string* out) : out_(out) {}

  void write_message(const pb::Message& message, const MessageType& type);

 private:
  void write_fields(const pb::Message& message, const MessageType& type);
  void write_array(const pb::Message& message, const Field& field);
  void write_map(const pb::Message& message, const Field& field);
  void write_any(const pb::Message& message, const MessageType& type);
  void write_time(const pb::Message& message, const MessageType& type);
  void write_field_mask(const pb::Message& message, const MessageType& type);
  void write_value_message(const pb::Message& message, const MessageType& type);
  /// Writes a singular field, or an element of a repeated one.
  void write_value(const pb::Message& message, const Field& field, int index);

  /// Writes a singular field without presence, name and all, unless it has its default.
  void write_unless_default(const pb::Message& message, const Field& field);
  void write_string(const std::string& text, const Field& field);
  template <typename Integer>
  void write_integer(Integer number);
  template <typename Float>
  void write_float(Float number);
  void write_bool(bool value) { out_.plain(value ? "true" : "false"); }
  void write_enum(int number, const Field& field);

  JsonOutput out_;
};

template <typename Integer>
void MessageWriter::write_integer(Integer number) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  if constexpr (sizeof(Integer) == 8) {
    out_.text(text);
  } else {
    out_.plain(text);
  }
}

/// Whether digits that are read as a double, as JSON's numbers are, become this float. Rounded
/// twice, 7.038531e-26 becomes its neighbour.
bool reads_back(const char* begin, const char* end, float number) {
  double read = 0;
  std::from_chars(begin, end, read);
  return static_cast<float>(read) == number;
}

/// The shortest digits that read back as the same number. What would look like an integer and be
/// read as one, with a loss, is written so that it does not.
template <typename Float>
void MessageWriter::write_float(Float number) {
  if (std::isnan(number)) return out_.text("NaN");
  if (std::isinf(number)) return out_.text(number > 0 ? "Infinity" : "-Infinity");
  constexpr Float kMaxPlain = 9007199254740992;  // 2^53
  char digits[32];
  const char* end = std::abs(number) >= kMaxPlain
                        ? std::to_chars(std::begin(digits), std::end(digits), number,
                                        std::chars_format::scientific)
                              .ptr
                        : std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  if constexpr (sizeof(Float) == sizeof(float)) {
    if (!reads_back(std::begin(digits), end, number)) {
      end = std::to_chars(std::begin(digits), std::end(digits), double{number}).ptr;
    }
  }
  std::string_view text(digits, static_cast<std::size_t>(end - digits));
  if (text == "-0") text = "-0.0";
  out_.plain(text);
}

void MessageWriter::write_string(const std::string& text, const Field& field) {
  if (field.is_bytes) {
    out_.text(encode_base64(text));
  } else {
    out_.text(text);
  }
}

void MessageWriter::write_enum(int number, const Field& field) {
  if (field.is_null_value) {
    out_.plain("null");
  } else if (const auto* value = field.descriptor->enum_type()->FindValueByNumber(number)) {
    out_.text(value->name());
  } else {
    write_integer(number);
  }
}

void MessageWriter::write_message(const pb::Message& message, const MessageType& type) {
  switch (type.well_known) {
    case pb::Descriptor::WELLKNOWNTYPE_DOUBLEVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_FLOATVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_INT64VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_UINT64VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_INT32VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_UINT32VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_STRINGVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_BYTESVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_BOOLVALUE:
      return write_value(message, type.fields[0], -1);
    case pb::Descriptor::WELLKNOWNTYPE_ANY:
      return write_any(message, type);
    case pb::Descriptor::WELLKNOWNTYPE_FIELDMASK:
      return write_field_mask(message, type);
    case pb::Descriptor::WELLKNOWNTYPE_DURATION:
    case pb::Descriptor::WELLKNOWNTYPE_TIMESTAMP:
      return write_time(message, type);
    case pb::Descriptor::WELLKNOWNTYPE_VALUE:
      return write_value_message(message, type);
    case pb::Descriptor::WELLKNOWNTYPE_LISTVALUE:
      return write_array(message, type.fields[0]);
    case pb::Descriptor::WELLKNOWNTYPE_STRUCT:
      return write_map(message, type.fields[0]);
    default:
      out_.begin_object();
      write_fields(message, type);
      out_.end_object();
  }
}

void MessageWriter::write_fields(const pb::Message& message, const MessageType& type) {
  const pb::Reflection* reflection = type.reflection(message);
  for (const Field& field : type.fields) {
    if (field.is_plain) {
      write_unless_default(message, field);
      continue;
    }
    const bool present = field.is_repeated ? reflection->FieldSize(message, field.descriptor) != 0
                                           : reflection->HasField(message, field.descriptor);
    if (!present) continue;
    out_.key_of(field.key);
    if (field.is_map) {
      write_map(message, field);
    } else if (field.is_repeated) {
      write_array(message, field);
    } else {
      write_value(message, field, -1);
    }
  }
}

void MessageWriter::write_unless_default(const pb::Message& message, const Field& field) {
  const pb::FieldDescriptor* descriptor = field.descriptor;
  const pb::Reflection* reflection = field.owner->reflection(message);
  const auto write_unless_zero = [&](auto number) {
    if (number == 0) return;
    out_.key_of(field.key);
    write_integer(number);
  };
  switch (field.cpp_type) {
    case pb::FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;
      const std::string& text = reflection->GetStringReference(message, descriptor, &scratch);
      if (text.empty()) return;
      out_.key_of(field.key);
      return write_string(text, field);
    }
    case pb::FieldDescriptor::CPPTYPE_ENUM: {
      const int number = reflection->GetEnumValue(message, descriptor);
      if (number == 0) return;
      out_.key_of(field.key);
      return write_enum(number, field);
    }
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      if (!reflection->GetBool(message, descriptor)) return;
      out_.key_of(field.key);
      return write_bool(true);
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return write_unless_zero(reflection->GetInt32(message, descriptor));
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return write_unless_zero(reflection->GetInt64(message, descriptor));
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return write_unless_zero(reflection->GetUInt32(message, descriptor));
    default:
      return write_unless_zero(reflection->GetUInt64(message, descriptor));
  }
}

void MessageWriter::write_array(const pb::Message& message, const Field& field) {
  out_.begin_array();
  const int size = field.owner->reflection(message)->FieldSize(message, field.descriptor);
  for (int i = 0; i < size; ++i) write_value(message, field, i);
  out_.end_array();
}

/// The text of a map key.
std::string key_text(const pb::Message& entry, const Field& field) {
  const pb::Reflection* reflection = field.owner->reflection(entry);
  const pb::FieldDescriptor& key = *field.descriptor;
  switch (key.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return reflection->GetString(entry, &key);
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetBool(entry, &key) ? "true" : "false";
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return std::to_string(reflection->GetInt32(entry, &key));
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return std::to_string(reflection->GetInt64(entry, &key));
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(reflection->GetUInt32(entry, &key));
    default:
      return std::to_string(reflection->GetUInt64(entry, &key));
  }
}

void MessageWriter::write_map(const pb::Message& message, const Field& field) {
  const pb::Reflection* reflection = field.owner->reflection(message);
  std::vector<std::pair<std::string, const pb::Message*>> entries;
  const int size = reflection->FieldSize(message, field.descriptor);
  entries.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) {
    const pb::Message& entry = reflection->GetRepeatedMessage(message, field.descriptor, i);
    entries.emplace_back(key_text(entry, field.message->fields[0]), &entry);
  }
  std::sort(entries.begin(), entries.end());
  out_.begin_object();
  for (const auto& [key, entry] : entries) {
    out_.key(key);
    write_value(*entry, field.message->fields[1], -1);
  }
  out_.end_object();
}

void MessageWriter::write_value(const pb::Message& message, const Field& field, int index) {
  const pb::FieldDescriptor* descriptor = field.descriptor;
  const pb::Reflection* reflection = field.owner->reflection(message);
  const auto get = [&](auto one, auto element) {
    return index < 0 ? (reflection->*one)(message, descriptor)
                     : (reflection->*element)(message, descriptor, index);
  };
  using R = pb::Reflection;
  switch (field.cpp_type) {
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return write_message(index < 0 ? reflection->GetMessage(message, descriptor)
                                     : reflection->GetRepeatedMessage(message, descriptor, index),
                           *field.message);
    case pb::FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;
      const std::string& text =
          index < 0 ? reflection->GetStringReference(message, descriptor, &scratch)
                    : reflection->GetRepeatedStringReference(message, descriptor, index, &scratch);
      return write_string(text, field);
    }
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return write_enum(get(&R::GetEnumValue, &R::GetRepeatedEnumValue), field);
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return write_bool(get(&R::GetBool, &R::GetRepeatedBool));
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return write_integer(get(&R::GetInt32, &R::GetRepeatedInt32));
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return write_integer(get(&R::GetInt64, &R::GetRepeatedInt64));
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return write_integer(get(&R::GetUInt32, &R::GetRepeatedUInt32));
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return write_integer(get(&R::GetUInt64, &R::GetRepeatedUInt64));
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return write_float(get(&R::GetFloat, &R::GetRepeatedFloat));
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return write_float(get(&R::GetDouble, &R::GetRepeatedDouble));
  }
}

void MessageWriter::write_any(const pb::Message& message, const MessageType& type) {
  const pb::Reflection* reflection = type.reflection(message);
  const std::string url = reflection->GetString(message, type.fields[0].descriptor);
  const std::string bytes = reflection->GetString(message, type.fields[1].descriptor);
  out_.begin_object();
  if (!url.empty()) {
    const pb::Descriptor* inner_type =
        pb::DescriptorPool::generated_pool()->FindMessageTypeByName(url.substr(url.rfind('/') + 1));
    if (!inner_type) refuse(message);
    const std::unique_ptr<pb::Message> inner(
        pb::MessageFactory::generated_factory()->GetPrototype(inner_type)->New());
    if (!inner->ParseFromString(bytes)) refuse(message);
    out_.key("@type");
    out_.text(url);
    const TypeHandle handle(*inner_type);
    if ((*handle).well_known == pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED) {
      write_fields(*inner, *handle);
    } else {
      out_.key("value");
      write_message(*inner, *handle);
    }
  }
  out_.end_object();
}

void MessageWriter::write_time(const pb::Message& message, const MessageType& type) {
  const pb::Reflection* reflection = type.reflection(message);
  const TimeParts parts{reflection->GetInt64(message, type.fields[0].descriptor),
                        reflection->GetInt32(message, type.fields[1].descriptor)};
  const auto text = type.well_known == pb::Descriptor::WELLKNOWNTYPE_TIMESTAMP
                        ? format_timestamp(parts)
                        : format_duration(parts);
  if (!text) refuse(message);
  out_.text(*text);
}

void MessageWriter::write_field_mask(const pb::Message& message, const MessageType& type) {
  const pb::Reflection* reflection = type.reflection(message);
  const pb::FieldDescriptor* paths = type.fields[0].descriptor;
  std::string joined;
  for (int i = 0; i < reflection->FieldSize(message, paths); ++i) {
    const auto path = to_camel_case(reflection->GetRepeatedString(message, paths, i));
    if (!path) refuse(message);
    if (i != 0) joined += ',';
    joined += *path;
  }
  out_.text(joined);
}

void MessageWriter::write_value_message(const pb::Message& message, const MessageType& type) {
  const pb::Reflection* reflection = type.reflection(message);
  const pb::FieldDescriptor* number = type.fields[1].descriptor;
  if (reflection->HasField(message, number) &&
      !std::isfinite(reflection->GetDouble(message, number))) {
    refuse(message);
  }
  for (const Field& field : type.fields) {
    if (reflection->HasField(message, field.descriptor)) return write_value(message, field, -1);
  }
  out_.plain("null");
}

}  // namespace
}  // namespace protojson

std::string write_json(const google::protobuf::Message& message) {
  constexpr std::size_t kTypicalSize = 1024;
  std::string out;
  out.reserve(kTypicalSize);
  const protojson::TypeHandle type(*message.GetDescriptor());
  protojson::MessageWriter(&out).write_message(message, *type);
  return out;
}

}  // namespace writ
