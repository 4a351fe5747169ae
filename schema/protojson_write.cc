#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "schema/base64.h"
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
  explicit MessageWriter(rapidjson::StringBuffer* out) : writer_(*out) {}

  void write_message(const pb::Message& message, const MessageType& type);

 private:
  void write_fields(const pb::Message& message, const MessageType& type);
  void write_field(const pb::Message& message, const Field& field);
  void write_array(const pb::Message& message, const Field& field);
  void write_map(const pb::Message& message, const Field& field);
  void write_any(const pb::Message& message, const MessageType& type);
  void write_time(const pb::Message& message, const MessageType& type);
  void write_field_mask(const pb::Message& message, const MessageType& type);
  void write_value_message(const pb::Message& message, const MessageType& type);
  /// Writes a singular field, or an element of a repeated one.
  void write_value(const pb::Message& message, const Field& field, int index);

  void write_text(std::string_view text) {
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void write_key(std::string_view key) {
    writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  }
  template <typename Integer>
  void write_integer(Integer number);
  template <typename Float>
  void write_float(Float number);
  void write_enum(int number, const Field& field);

  rapidjson::Writer<rapidjson::StringBuffer> writer_;
  std::vector<const pb::FieldDescriptor*> spare_;  // whose memory the next message may use
};

template <typename Integer>
void MessageWriter::write_integer(Integer number) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  if constexpr (sizeof(Integer) == 8) {
    write_text(text);
  } else {
    writer_.RawValue(text.data(), text.size(), rapidjson::kNumberType);
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
  if (std::isnan(number)) return write_text("NaN");
  if (std::isinf(number)) return write_text(number > 0 ? "Infinity" : "-Infinity");
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
  writer_.RawValue(text.data(), text.size(), rapidjson::kNumberType);
}

void MessageWriter::write_enum(int number, const Field& field) {
  if (field.is_null_value) {
    writer_.Null();
  } else if (const auto* value = field.descriptor->enum_type()->FindValueByNumber(number)) {
    write_text(value->name());
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
      writer_.StartObject();
      write_fields(message, type);
      writer_.EndObject();
  }
}

void MessageWriter::write_fields(const pb::Message& message, const MessageType& type) {
  std::vector<const pb::FieldDescriptor*> present = std::move(spare_);
  type.reflection(message)->ListFields(message, &present);
  for (const pb::FieldDescriptor* descriptor : present) {
    const Field& field = type.fields[type.places[static_cast<std::size_t>(descriptor->index())]];
    writer_.RawValue(field.key.data(), field.key.size(), rapidjson::kStringType);
    write_field(message, field);
  }
  spare_ = std::move(present);
}

void MessageWriter::write_field(const pb::Message& message, const Field& field) {
  if (field.is_map) {
    write_map(message, field);
  } else if (field.is_repeated) {
    write_array(message, field);
  } else {
    write_value(message, field, -1);
  }
}

void MessageWriter::write_array(const pb::Message& message, const Field& field) {
  writer_.StartArray();
  const int size = field.owner->reflection(message)->FieldSize(message, field.descriptor);
  for (int i = 0; i < size; ++i) write_value(message, field, i);
  writer_.EndArray();
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
  writer_.StartObject();
  for (const auto& [key, entry] : entries) {
    write_key(key);
    write_value(*entry, field.message->fields[1], -1);
  }
  writer_.EndObject();
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
      return field.is_bytes ? write_text(encode_base64(text)) : write_text(text);
    }
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return write_enum(get(&R::GetEnumValue, &R::GetRepeatedEnumValue), field);
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      writer_.Bool(get(&R::GetBool, &R::GetRepeatedBool));
      return;
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
  writer_.StartObject();
  if (!url.empty()) {
    const pb::Descriptor* inner_type =
        pb::DescriptorPool::generated_pool()->FindMessageTypeByName(url.substr(url.rfind('/') + 1));
    if (!inner_type) refuse(message);
    const std::unique_ptr<pb::Message> inner(
        pb::MessageFactory::generated_factory()->GetPrototype(inner_type)->New());
    if (!inner->ParseFromString(bytes)) refuse(message);
    write_key("@type");
    write_text(url);
    const TypeHandle handle(*inner_type);
    if ((*handle).well_known == pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED) {
      write_fields(*inner, *handle);
    } else {
      write_key("value");
      write_message(*inner, *handle);
    }
  }
  writer_.EndObject();
}

void MessageWriter::write_time(const pb::Message& message, const MessageType& type) {
  const pb::Reflection* reflection = type.reflection(message);
  const TimeParts parts{reflection->GetInt64(message, type.fields[0].descriptor),
                        reflection->GetInt32(message, type.fields[1].descriptor)};
  const auto text = type.well_known == pb::Descriptor::WELLKNOWNTYPE_TIMESTAMP
                        ? format_timestamp(parts)
                        : format_duration(parts);
  if (!text) refuse(message);
  write_text(*text);
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
  write_text(joined);
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
  writer_.Null();
}

}  // namespace
}  // namespace protojson

std::string write_json(const google::protobuf::Message& message) {
  // Names and marks take about as much as what they name.
  rapidjson::StringBuffer out(nullptr, 3 * message.ByteSizeLong() + 64);
  const protojson::TypeHandle type(*message.GetDescriptor());
  protojson::MessageWriter(&out).write_message(message, *type);
  return {out.GetString(), out.GetSize()};
}

}  // namespace writ
