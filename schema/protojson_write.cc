#include <google/protobuf/message.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "schema/base64.h"
#include "schema/json_output.h"
#include "schema/protojson.h"
#include "schema/protojson_text.h"
#include "schema/protojson_types.h"
#include "schema/wire_cursor.h"

namespace writ {
namespace protojson {
namespace {

namespace pb = google::protobuf;

[[noreturn]] void refuse(const MessageType& type) {
  throw std::invalid_argument("a " + type.descriptor->full_name() + " has no JSON form");
}

/// Whether this is the tag of such a field, or of an element of it. What is not understood, as
/// parsing found it, stands in the binary form with tags that are none.
bool is_tag_of(std::uint32_t tag, const Field& field) {
  if (field_number(tag) != field.descriptor->number()) return false;
  const WireType wire = wire_type(tag);
  return wire == field.wire || (field.is_packable && wire == WireType::kBytes);
}

/// The value of a singular field in the binary form of a message, its default when it is not there.
WireCursor value_of(std::string_view message, const Field& field) {
  constexpr std::string_view kDefaults("\0\0\0\0\0\0\0\0", sizeof(double));
  WireCursor in(message);
  while (!in.at_end()) {
    const std::uint32_t tag = in.tag();
    if (is_tag_of(tag, field)) return in;
    in.skip(tag);
  }
  return WireCursor(kDefaults);
}

/// Writes messages from their binary form, in which only what they say stands, by number.
class MessageWriter {
 public:
  explicit MessageWriter(JsonOutput* out) : out_(*out) {}

  void write_message(std::string_view message, const MessageType& type);

 private:
  struct Entry {
    std::string key;
    WireCursor value;
  };

  void write_fields(std::string_view message, const MessageType& type);
  void write_array(WireCursor& in, std::uint32_t tag, const Field& field);
  void write_map(std::vector<Entry> entries, const Field& field);
  void write_any(std::string_view message, const MessageType& type);
  void write_time(std::string_view message, const MessageType& type);
  void write_field_mask(std::string_view message, const MessageType& type);
  void write_value_message(std::string_view message, const MessageType& type);
  void write_list_value(std::string_view message, const MessageType& type);
  void write_struct(std::string_view message, const MessageType& type);
  /// Writes a singular field, or an element of a repeated one.
  void write_value(WireCursor& in, const Field& field);

  template <typename Integer>
  void write_integer(Integer number);
  template <typename Float>
  void write_float(Float number);
  void write_enum(int number, const Field& field);

  static Entry read_entry(std::string_view entry, const Field& field);

  JsonOutput& out_;
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

void MessageWriter::write_enum(int number, const Field& field) {
  const auto place = static_cast<std::size_t>(number);
  if (field.is_null_value) {
    out_.plain("null");
  } else if (place < field.enum_texts.size() && !field.enum_texts[place].empty()) {
    out_.plain(field.enum_texts[place]);
  } else if (const auto* value = field.descriptor->enum_type()->FindValueByNumber(number)) {
    out_.text(value->name());
  } else {
    write_integer(number);
  }
}

void MessageWriter::write_message(std::string_view message, const MessageType& type) {
  switch (type.well_known) {
    case pb::Descriptor::WELLKNOWNTYPE_DOUBLEVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_FLOATVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_INT64VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_UINT64VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_INT32VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_UINT32VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_STRINGVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_BYTESVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_BOOLVALUE: {
      WireCursor value = value_of(message, type.fields[0]);
      return write_value(value, type.fields[0]);
    }
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
      return write_list_value(message, type);
    case pb::Descriptor::WELLKNOWNTYPE_STRUCT:
      return write_struct(message, type);
    default:
      out_.begin_object();
      write_fields(message, type);
      out_.end_object();
  }
}

void MessageWriter::write_fields(std::string_view message, const MessageType& type) {
  WireCursor in(message);
  auto field = type.fields.begin();
  while (!in.at_end()) {
    const std::uint32_t tag = in.tag();
    const int number = field_number(tag);
    while (field != type.fields.end() && field->descriptor->number() < number) ++field;
    // What is not understood comes last, and may go back.
    if (field == type.fields.end() || !is_tag_of(tag, *field)) {
      in.skip(tag);
      continue;
    }
    out_.quoted_key(field->key);
    if (field->is_map) {
      std::vector<Entry> entries;
      do {
        entries.push_back(read_entry(in.bytes(), *field));
      } while (in.take(tag));
      write_map(std::move(entries), *field);
    } else if (field->is_repeated) {
      write_array(in, tag, *field);
    } else {
      write_value(in, *field);
    }
  }
}

void MessageWriter::write_array(WireCursor& in, std::uint32_t tag, const Field& field) {
  out_.begin_array();
  if (field.is_packable && wire_type(tag) == WireType::kBytes) {
    WireCursor packed(in.bytes());
    while (!packed.at_end()) write_value(packed, field);
  } else {
    do {
      write_value(in, field);
    } while (in.take(tag));
  }
  out_.end_array();
}

MessageWriter::Entry MessageWriter::read_entry(std::string_view entry, const Field& field) {
  const Field& key = field.message->fields[0];
  WireCursor in = value_of(entry, key);
  std::string text;
  switch (key.type) {
    case pb::FieldDescriptor::TYPE_STRING:
      text = in.bytes();
      break;
    case pb::FieldDescriptor::TYPE_BOOL:
      text = in.varint() != 0 ? "true" : "false";
      break;
    case pb::FieldDescriptor::TYPE_INT32:
      text = std::to_string(static_cast<std::int32_t>(in.varint()));
      break;
    case pb::FieldDescriptor::TYPE_SINT32:
    case pb::FieldDescriptor::TYPE_SINT64:
      text = std::to_string(from_zigzag(in.varint()));
      break;
    case pb::FieldDescriptor::TYPE_SFIXED32:
      text = std::to_string(static_cast<std::int32_t>(in.fixed32()));
      break;
    case pb::FieldDescriptor::TYPE_FIXED32:
      text = std::to_string(in.fixed32());
      break;
    case pb::FieldDescriptor::TYPE_INT64:
      text = std::to_string(static_cast<std::int64_t>(in.varint()));
      break;
    case pb::FieldDescriptor::TYPE_SFIXED64:
      text = std::to_string(static_cast<std::int64_t>(in.fixed64()));
      break;
    case pb::FieldDescriptor::TYPE_FIXED64:
      text = std::to_string(in.fixed64());
      break;
    default:
      text = std::to_string(in.varint());
  }
  return {std::move(text), value_of(entry, field.message->fields[1])};
}

void MessageWriter::write_map(std::vector<Entry> entries, const Field& field) {
  std::ranges::sort(entries, {}, &Entry::key);
  out_.begin_object();
  for (Entry& entry : entries) {
    out_.key(entry.key);
    write_value(entry.value, field.message->fields[1]);
  }
  out_.end_object();
}

void MessageWriter::write_value(WireCursor& in, const Field& field) {
  switch (field.type) {
    case pb::FieldDescriptor::TYPE_MESSAGE:
      return write_message(in.bytes(), *field.message);
    case pb::FieldDescriptor::TYPE_STRING:
      return out_.text(in.bytes());
    case pb::FieldDescriptor::TYPE_BYTES:
      return out_.text(encode_base64(in.bytes()));
    case pb::FieldDescriptor::TYPE_ENUM:
      return write_enum(static_cast<int>(in.varint()), field);
    case pb::FieldDescriptor::TYPE_BOOL:
      return out_.plain(in.varint() != 0 ? "true" : "false");
    case pb::FieldDescriptor::TYPE_INT32:
      return write_integer(static_cast<std::int32_t>(in.varint()));
    case pb::FieldDescriptor::TYPE_SINT32:
      return write_integer(static_cast<std::int32_t>(from_zigzag(in.varint())));
    case pb::FieldDescriptor::TYPE_SFIXED32:
      return write_integer(static_cast<std::int32_t>(in.fixed32()));
    case pb::FieldDescriptor::TYPE_UINT32:
      return write_integer(static_cast<std::uint32_t>(in.varint()));
    case pb::FieldDescriptor::TYPE_FIXED32:
      return write_integer(in.fixed32());
    case pb::FieldDescriptor::TYPE_INT64:
      return write_integer(static_cast<std::int64_t>(in.varint()));
    case pb::FieldDescriptor::TYPE_SINT64:
      return write_integer(from_zigzag(in.varint()));
    case pb::FieldDescriptor::TYPE_SFIXED64:
      return write_integer(static_cast<std::int64_t>(in.fixed64()));
    case pb::FieldDescriptor::TYPE_UINT64:
      return write_integer(in.varint());
    case pb::FieldDescriptor::TYPE_FIXED64:
      return write_integer(in.fixed64());
    case pb::FieldDescriptor::TYPE_FLOAT:
      return write_float(std::bit_cast<float>(in.fixed32()));
    case pb::FieldDescriptor::TYPE_DOUBLE:
      return write_float(std::bit_cast<double>(in.fixed64()));
    case pb::FieldDescriptor::TYPE_GROUP:
      refuse(*field.owner);  // Only proto2 has them.
  }
}

void MessageWriter::write_any(std::string_view message, const MessageType& type) {
  const std::string url(value_of(message, type.fields[0]).bytes());
  const std::string_view bytes = value_of(message, type.fields[1]).bytes();
  out_.begin_object();
  if (!url.empty()) {
    const pb::Descriptor* inner_type =
        pb::DescriptorPool::generated_pool()->FindMessageTypeByName(url.substr(url.rfind('/') + 1));
    if (!inner_type) refuse(type);
    // Somebody else's bytes, which may say things twice and in any order.
    const std::unique_ptr<pb::Message> inner(
        pb::MessageFactory::generated_factory()->GetPrototype(inner_type)->New());
    if (!inner->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) refuse(type);
    const std::string in_order = inner->SerializeAsString();
    out_.key("@type");
    out_.text(url);
    const TypeHandle handle(*inner_type);
    if ((*handle).well_known == pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED) {
      write_fields(in_order, *handle);
    } else {
      out_.key("value");
      write_message(in_order, *handle);
    }
  }
  out_.end_object();
}

void MessageWriter::write_time(std::string_view message, const MessageType& type) {
  const TimeParts parts{static_cast<std::int64_t>(value_of(message, type.fields[0]).varint()),
                        static_cast<std::int32_t>(value_of(message, type.fields[1]).varint())};
  const auto text = type.well_known == pb::Descriptor::WELLKNOWNTYPE_TIMESTAMP
                        ? format_timestamp(parts)
                        : format_duration(parts);
  if (!text) refuse(type);
  out_.text(*text);
}

void MessageWriter::write_field_mask(std::string_view message, const MessageType& type) {
  std::string joined;
  WireCursor in(message);
  for (bool is_first = true; !in.at_end();) {
    const std::uint32_t tag = in.tag();
    if (!is_tag_of(tag, type.fields[0])) {
      in.skip(tag);
      continue;
    }
    const auto path = to_camel_case(in.bytes());
    if (!path) refuse(type);
    if (!is_first) joined += ',';
    is_first = false;
    joined += *path;
  }
  out_.text(joined);
}

void MessageWriter::write_value_message(std::string_view message, const MessageType& type) {
  WireCursor in(message);
  while (!in.at_end()) {
    const std::uint32_t tag = in.tag();
    const auto field =
        std::ranges::find_if(type.fields, [&](const Field& one) { return is_tag_of(tag, one); });
    if (field == type.fields.end()) {
      in.skip(tag);
      continue;
    }
    WireCursor number = in;
    if (field->type == pb::FieldDescriptor::TYPE_DOUBLE &&
        !std::isfinite(std::bit_cast<double>(number.fixed64())))
      refuse(type);
    return write_value(in, *field);
  }
  out_.plain("null");
}

void MessageWriter::write_list_value(std::string_view message, const MessageType& type) {
  out_.begin_array();
  WireCursor in(message);
  while (!in.at_end()) {
    const std::uint32_t tag = in.tag();
    if (is_tag_of(tag, type.fields[0])) {
      write_value(in, type.fields[0]);
    } else {
      in.skip(tag);
    }
  }
  out_.end_array();
}

void MessageWriter::write_struct(std::string_view message, const MessageType& type) {
  std::vector<Entry> entries;
  WireCursor in(message);
  while (!in.at_end()) {
    const std::uint32_t tag = in.tag();
    if (is_tag_of(tag, type.fields[0])) {
      entries.push_back(read_entry(in.bytes(), type.fields[0]));
    } else {
      in.skip(tag);
    }
  }
  write_map(std::move(entries), type.fields[0]);
}

}  // namespace
}  // namespace protojson

std::string write_json(const google::protobuf::Message& message) {
  std::string bytes;
  GOOGLE_CHECK(message.SerializePartialToString(&bytes));
  JsonOutput out;
  const protojson::TypeHandle type(*message.GetDescriptor());
  protojson::MessageWriter(&out).write_message(bytes, *type);
  return out.take();
}

}  // namespace writ
