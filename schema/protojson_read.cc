#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <simdjson.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "schema/base64.h"
#include "schema/near_miss.h"
#include "schema/protojson.h"
#include "schema/protojson_path.h"
#include "schema/protojson_text.h"
#include "schema/protojson_types.h"
#include "schema/quote.h"

namespace writ {
namespace protojson {
namespace {

namespace pb = google::protobuf;
namespace dom = simdjson::dom;
using dom::element_type;

constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kMaxUnknownFields = 16;
/// A parser that a thread keeps holds buffers for texts up to this size.
constexpr std::size_t kMaxKeptText = 64 * 1024;

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

std::optional<std::string_view> as_text(dom::element in) {
  std::string_view text;
  if (in.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}

std::optional<std::int64_t> as_int64(dom::element in) {
  if (in.is<std::int64_t>()) return in.get_int64().value_unsafe();
  if (in.is<double>()) return exact_integer(in.get_double().value_unsafe());
  const auto text = as_text(in);
  return text ? parse_int64(*text) : std::nullopt;
}

std::optional<std::uint64_t> as_uint64(dom::element in) {
  if (in.is<std::uint64_t>()) return in.get_uint64().value_unsafe();
  if (const auto text = as_text(in)) return parse_uint64(*text);
  const auto number = as_int64(in);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::optional<double> as_double(dom::element in) {
  if (const auto text = as_text(in)) return parse_double(*text);
  double number = 0;
  if (in.get_double().get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

bool Reader::check_unique(dom::object in, const Path& path) {
  if (in.size() < 2) return true;
  std::vector<std::string_view> keys;
  keys.reserve(in.size());
  for (const auto& [key, value] : in) keys.push_back(key);
  // Sorted and not hashed: keys are the client's choice.
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  return twice == keys.end() || refuse(Path::entry(path, *twice), "is given twice");
}

bool Reader::check_unique_deep(dom::element in, const Path& path) {
  if (in.is_array()) {
    const dom::array array = in.get_array().value_unsafe();
    std::size_t index = 0;
    for (const dom::element element : array) {
      if (!check_unique_deep(element, Path(path, index++))) return false;
    }
  } else if (in.is_object()) {
    const dom::object object = in.get_object().value_unsafe();
    if (!check_unique(object, path)) return false;
    for (const auto& [key, value] : object) {
      if (!check_unique_deep(value, Path(path, key))) return false;
    }
  }
  return true;
}

bool Reader::read_message(dom::element in, const MessageType& type, pb::Message* out,
                          const Path& path) {
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
      return read_value(in, type.fields[0], out, path) == Outcome::kStored;
    case pb::Descriptor::WELLKNOWNTYPE_ANY:
      return read_any(in, type, out, path);
    case pb::Descriptor::WELLKNOWNTYPE_FIELDMASK:
      return read_field_mask(in, type, out, path);
    case pb::Descriptor::WELLKNOWNTYPE_DURATION:
    case pb::Descriptor::WELLKNOWNTYPE_TIMESTAMP:
      return read_time(in, type, out, path);
    case pb::Descriptor::WELLKNOWNTYPE_VALUE:
      return read_value_message(in, type, out, path);
    case pb::Descriptor::WELLKNOWNTYPE_LISTVALUE:
      return read_array(in, type.fields[0], out, path);
    case pb::Descriptor::WELLKNOWNTYPE_STRUCT:
      return read_map(in, type.fields[0], out, path);
    default:
      if (!in.is_object()) return refuse(path, "must be an object");
      return read_fields(in.get_object().value_unsafe(), type, out, path, "");
  }
}

/// Which fields of a message were given.
class GivenFields {
 public:
  /// False when the field was given before.
  bool add(std::size_t index) {
    if (index < 64) {
      const std::uint64_t bit = std::uint64_t{1} << index;
      const bool added = (low_ & bit) == 0;
      low_ |= bit;
      return added;
    }
    if (high_.size() <= index) high_.resize(index + 1);
    const bool added = !high_[index];
    high_[index] = true;
    return added;
  }

 private:
  std::uint64_t low_ = 0;
  std::vector<bool> high_;
};

bool Reader::read_fields(dom::object in, const MessageType& type, pb::Message* out,
                         const Path& path, std::string_view skipped_name) {
  GivenFields given;
  bool any_unknown = false;
  for (const auto& [name, value] : in) {
    const Field* field = type.find(name);
    if (!field) {
      any_unknown = true;
      if (!skipped_name.empty() && name == skipped_name) continue;
      const Path inner(path, name);
      if (!check_unique_deep(value, inner)) return false;
      note_ignored(inner);
      continue;
    }
    const Path inner(path, field->descriptor->name());
    if (!given.add(field->index)) return refuse(inner, "is given twice");
    if (value.is_null() && !field->takes_null) continue;
    const pb::OneofDescriptor* oneof = field->descriptor->real_containing_oneof();
    if (oneof && type.reflection(*out)->HasOneof(*out, oneof)) {
      return refuse(inner, "stands beside another member of " + oneof->name());
    }
    if (!read_field(value, *field, out, inner)) return false;
  }
  return !any_unknown || check_unique(in, path);
}

bool Reader::read_field(dom::element in, const Field& field, pb::Message* out, const Path& path) {
  if (field.descriptor->is_map()) return read_map(in, field, out, path);
  if (field.descriptor->is_repeated()) return read_array(in, field, out, path);
  const Outcome outcome = read_value(in, field, out, path);
  if (outcome == Outcome::kSkipped) note_ignored(path);
  return outcome != Outcome::kRefused;
}

bool Reader::read_array(dom::element in, const Field& field, pb::Message* out, const Path& path) {
  if (!in.is_array()) return refuse(path, "must be an array");
  const dom::array array = in.get_array().value_unsafe();
  std::size_t index = 0;
  for (const dom::element element : array) {
    const Path inner(path, index++);
    if (element.is_null() && !field.takes_null) return refuse(inner, "must not be null");
    const Outcome outcome = read_value(element, field, out, inner);
    if (outcome == Outcome::kRefused) return false;
    if (outcome == Outcome::kSkipped) note_ignored(inner);
  }
  return true;
}

bool Reader::read_map(dom::element in, const Field& field, pb::Message* out, const Path& path) {
  if (!in.is_object()) return refuse(path, "must be an object");
  const dom::object object = in.get_object().value_unsafe();
  if (!check_unique(object, path)) return false;
  const Field& key_field = field.message->fields[0];
  const Field& value_field = field.message->fields[1];
  const pb::Reflection* reflection = field.owner->reflection(*out);
  for (const auto& [key, value] : object) {
    const Path inner = Path::entry(path, key);
    if (value.is_null() && !value_field.takes_null) return refuse(inner, "must not be null");
    pb::Message* entry = reflection->AddMessage(out, field.descriptor);
    if (!read_map_key(key, key_field, entry, inner)) return false;
    const Outcome outcome = read_value(value, value_field, entry, inner);
    if (outcome == Outcome::kRefused) return false;
    if (outcome == Outcome::kSkipped) {
      note_ignored(inner);
      reflection->RemoveLast(out, field.descriptor);
    }
  }
  return true;
}

bool Reader::read_map_key(std::string_view in, const Field& field, pb::Message* entry,
                          const Path& path) {
  const pb::Reflection* reflection = field.owner->reflection(*entry);
  const pb::FieldDescriptor* key = field.descriptor;
  const auto fits = [](const auto& number, auto limits) {
    return number && *number >= limits.min() && *number <= limits.max();
  };
  switch (key->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_STRING:
      reflection->SetString(entry, key, std::string(in));
      return true;
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      if (in != "true" && in != "false") return refuse(path, "key must be true or false");
      reflection->SetBool(entry, key, in == "true");
      return true;
    case pb::FieldDescriptor::CPPTYPE_UINT64:
    case pb::FieldDescriptor::CPPTYPE_UINT32: {
      // Digits only: two spellings of one key would be a duplicate that nobody sees.
      const auto number = parse_uint64(in);
      if (!number || std::to_string(*number) != in) break;
      if (key->cpp_type() == pb::FieldDescriptor::CPPTYPE_UINT64) {
        reflection->SetUInt64(entry, key, *number);
        return true;
      }
      if (!fits(number, std::numeric_limits<std::uint32_t>())) break;
      reflection->SetUInt32(entry, key, static_cast<std::uint32_t>(*number));
      return true;
    }
    default: {
      const auto number = parse_int64(in);
      if (!number || std::to_string(*number) != in) break;
      if (key->cpp_type() == pb::FieldDescriptor::CPPTYPE_INT64) {
        reflection->SetInt64(entry, key, *number);
        return true;
      }
      if (!fits(number, std::numeric_limits<std::int32_t>())) break;
      reflection->SetInt32(entry, key, static_cast<std::int32_t>(*number));
      return true;
    }
  }
  return refuse(path, "key must be a whole number in range");
}

Outcome Reader::read_value(dom::element in, const Field& field, pb::Message* out,
                           const Path& path) {
  const pb::FieldDescriptor* descriptor = field.descriptor;
  const pb::Reflection* reflection = field.owner->reflection(*out);
  switch (descriptor->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_MESSAGE: {
      pb::Message* inner = descriptor->is_repeated() ? reflection->AddMessage(out, descriptor)
                                                     : reflection->MutableMessage(out, descriptor);
      return read_message(in, *field.message, inner, path) ? Outcome::kStored : Outcome::kRefused;
    }
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return read_text(in, field, out, path);
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return read_enum(in, field, out, path);
    case pb::FieldDescriptor::CPPTYPE_BOOL: {
      bool value = false;
      if (in.get_bool().get(value) != simdjson::SUCCESS) {
        return refuse_value(path, "must be true or false");
      }
      if (descriptor->is_repeated()) {
        reflection->AddBool(out, descriptor, value);
      } else {
        reflection->SetBool(out, descriptor, value);
      }
      return Outcome::kStored;
    }
    default:
      return read_number(in, field, out, path);
  }
}

Outcome Reader::read_text(dom::element in, const Field& field, pb::Message* out, const Path& path) {
  const auto text = as_text(in);
  if (!text) return refuse_value(path, "must be a string");
  std::string value;
  if (field.descriptor->type() == pb::FieldDescriptor::TYPE_BYTES) {
    auto bytes = decode_base64(*text);
    if (!bytes) return refuse_value(path, "must be base64");
    value = std::move(*bytes);
  } else {
    value = *text;
  }
  const pb::Reflection* reflection = field.owner->reflection(*out);
  if (field.descriptor->is_repeated()) {
    reflection->AddString(out, field.descriptor, std::move(value));
  } else {
    reflection->SetString(out, field.descriptor, std::move(value));
  }
  return Outcome::kStored;
}

/// The rule that an integer of this type obeys, in words.
template <typename Integer>
std::string range_rule() {
  using Limits = std::numeric_limits<Integer>;
  return "must be a whole number from " + std::to_string(Limits::min()) + " to " +
         std::to_string(Limits::max());
}

Outcome Reader::read_number(dom::element in, const Field& field, pb::Message* out,
                            const Path& path) {
  const pb::FieldDescriptor* descriptor = field.descriptor;
  const pb::Reflection* reflection = field.owner->reflection(*out);
  // Stores through the pair of methods for the type, or refuses a number that is none or too large.
  const auto store = [&]<typename T>(const auto& number, T lowest, T highest, auto set, auto add,
                                     const std::string& rule) {
    if (!number || *number < lowest || *number > highest) return refuse_value(path, rule);
    if (descriptor->is_repeated()) {
      (reflection->*add)(out, descriptor, static_cast<T>(*number));
    } else {
      (reflection->*set)(out, descriptor, static_cast<T>(*number));
    }
    return Outcome::kStored;
  };
  const auto store_integer = [&]<typename T>(const auto& number, T, auto set, auto add) {
    using Limits = std::numeric_limits<T>;
    if (number && *number >= Limits::min() && *number <= Limits::max()) {
      return store(number, Limits::min(), Limits::max(), set, add, "");
    }
    return refuse_value(path, range_rule<T>());
  };
  using R = pb::Reflection;
  switch (descriptor->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return store_integer(as_int64(in), std::int32_t{}, &R::SetInt32, &R::AddInt32);
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return store_integer(as_int64(in), std::int64_t{}, &R::SetInt64, &R::AddInt64);
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return store_integer(as_uint64(in), std::uint32_t{}, &R::SetUInt32, &R::AddUInt32);
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return store_integer(as_uint64(in), std::uint64_t{}, &R::SetUInt64, &R::AddUInt64);
    default:
      break;
  }
  const auto number = as_double(in);
  if (!number) return refuse_value(path, "must be a number in range");
  const bool is_float = descriptor->cpp_type() == pb::FieldDescriptor::CPPTYPE_FLOAT;
  if (is_float && std::isfinite(*number) && std::abs(*number) > FLT_MAX) {
    return refuse_value(path, "must be a number in range");
  }
  if (is_float && descriptor->is_repeated()) {
    reflection->AddFloat(out, descriptor, static_cast<float>(*number));
  } else if (is_float) {
    reflection->SetFloat(out, descriptor, static_cast<float>(*number));
  } else if (descriptor->is_repeated()) {
    reflection->AddDouble(out, descriptor, *number);
  } else {
    reflection->SetDouble(out, descriptor, *number);
  }
  return Outcome::kStored;
}

std::string unknown_name_rule(std::string_view name, const pb::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  std::string rule = "unknown " + type.full_name() + " " + quote(name.substr(0, 128));
  const std::string near = nearest_name(name, names);
  return near.empty() ? rule : rule + " (did you mean " + quote(near) + "?)";
}

Outcome Reader::read_enum(dom::element in, const Field& field, pb::Message* out, const Path& path) {
  const pb::EnumDescriptor& type = *field.descriptor->enum_type();
  std::int32_t number = 0;
  if (field.is_null_value && in.is_null()) {
    number = 0;
  } else if (const auto name = as_text(in)) {
    const pb::EnumValueDescriptor* value = type.FindValueByName(std::string(*name));
    if (!value) {
      if (mode_ == JsonMode::kStored) return Outcome::kSkipped;
      return refuse_value(path, unknown_name_rule(*name, type));
    }
    number = value->number();
  } else {
    const auto given = as_int64(in);
    if (!given || *given < std::numeric_limits<std::int32_t>::min() ||
        *given > std::numeric_limits<std::int32_t>::max()) {
      return refuse_value(path, "must be the name or number of a " + type.full_name());
    }
    number = static_cast<std::int32_t>(*given);
  }
  const pb::Reflection* reflection = field.owner->reflection(*out);
  if (field.descriptor->is_repeated()) {
    reflection->AddEnumValue(out, field.descriptor, number);
  } else {
    reflection->SetEnumValue(out, field.descriptor, number);
  }
  return Outcome::kStored;
}

/// The message type that a type URL names, among the generated ones.
const pb::Descriptor* find_type(std::string_view url) {
  const std::size_t slash = url.rfind('/');
  if (slash == std::string_view::npos) return nullptr;
  return pb::DescriptorPool::generated_pool()->FindMessageTypeByName(
      std::string(url.substr(slash + 1)));
}

bool Reader::read_any(dom::element in, const MessageType& type, pb::Message* out,
                      const Path& path) {
  if (!in.is_object()) return refuse(path, "must be an object");
  const dom::object object = in.get_object().value_unsafe();
  if (object.size() == 0) return true;
  dom::element url_element;
  if (object.at_key("@type").get(url_element) != simdjson::SUCCESS) {
    return refuse(path, "must have an \"@type\"");
  }
  const auto url = as_text(url_element);
  const pb::Descriptor* inner_type = url ? find_type(*url) : nullptr;
  if (!inner_type) return refuse(Path(path, "@type"), "must name a known message type");
  const std::unique_ptr<pb::Message> inner(
      pb::MessageFactory::generated_factory()->GetPrototype(inner_type)->New());
  const TypeHandle handle(*inner_type);
  if ((*handle).well_known == pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED) {
    if (!read_fields(object, *handle, inner.get(), path, "@type")) return false;
  } else {
    if (!check_unique(object, path)) return false;
    dom::element value;
    if (object.at_key("value").get(value) != simdjson::SUCCESS) {
      return refuse(path, "must have a \"value\"");
    }
    if (!read_message(value, *handle, inner.get(), Path(path, "value"))) return false;
  }
  const pb::Reflection* reflection = type.reflection(*out);
  reflection->SetString(out, type.fields[0].descriptor, std::string(*url));
  reflection->SetString(out, type.fields[1].descriptor, inner->SerializeAsString());
  return true;
}

bool Reader::read_value_message(dom::element in, const MessageType& type, pb::Message* out,
                                const Path& path) {
  const auto member = [&](int number) -> const Field& {
    return type.fields[static_cast<std::size_t>(number - 1)];
  };
  // Numbers of google.protobuf.Value's oneof.
  switch (in.type()) {
    case element_type::NULL_VALUE:
      return read_enum(in, member(1), out, path) == Outcome::kStored;
    case element_type::STRING:
      return read_text(in, member(3), out, path) == Outcome::kStored;
    case element_type::BOOL:
      return read_value(in, member(4), out, path) == Outcome::kStored;
    case element_type::OBJECT:
      return read_value(in, member(5), out, path) == Outcome::kStored;
    case element_type::ARRAY:
      return read_value(in, member(6), out, path) == Outcome::kStored;
    default:
      return read_number(in, member(2), out, path) == Outcome::kStored;
  }
}

bool Reader::read_time(dom::element in, const MessageType& type, pb::Message* out,
                       const Path& path) {
  const bool is_timestamp = type.well_known == pb::Descriptor::WELLKNOWNTYPE_TIMESTAMP;
  const auto text = as_text(in);
  const auto parts = !text          ? std::nullopt
                     : is_timestamp ? parse_timestamp(*text)
                                    : parse_duration(*text);
  if (!parts) {
    return refuse(path, is_timestamp ? "must be an RFC 3339 time such as 2025-01-31T12:00:00Z"
                                     : "must be seconds such as 1.5s");
  }
  type.reflection(*out)->SetInt64(out, type.fields[0].descriptor, parts->seconds);
  type.reflection(*out)->SetInt32(out, type.fields[1].descriptor, parts->nanos);
  return true;
}

bool Reader::read_field_mask(dom::element in, const MessageType& type, pb::Message* out,
                             const Path& path) {
  const auto text = as_text(in);
  if (!text) return refuse(path, "must be a string");
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto mask_path = to_snake_case(rest.substr(0, comma));
    if (!mask_path || mask_path->empty()) {
      return refuse(path, "must be camelCase field paths joined by commas");
    }
    type.reflection(*out)->AddString(out, type.fields[0].descriptor, *mask_path);
    if (comma + 1 == rest.size()) return refuse(path, "must not end with a comma");
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return true;
}

/// Why a text is no JSON, for people.
std::string describe_syntax(simdjson::error_code error) {
  switch (error) {
    case simdjson::EMPTY:
      return "the text is empty";
    case simdjson::UTF8_ERROR:
      return "the text is not valid UTF-8";
    case simdjson::DEPTH_ERROR:
      return "the text nests more than 100 deep";
    case simdjson::NUMBER_ERROR:
      return "a number is malformed or out of range";
    case simdjson::STRING_ERROR:
    case simdjson::UNESCAPED_CHARS:
      return "a string is malformed";
    case simdjson::UNCLOSED_STRING:
      return "a string has no end";
    case simdjson::CAPACITY:
      return "the text is too long";
    case simdjson::MEMALLOC:
      return "the text needs too much memory";
    default:
      return "the text is malformed";
  }
}

/// A parser and the padded copy of a text that it needs.
class PaddedParser {
 public:
  simdjson::simdjson_result<dom::element> parse(std::string_view json) {
    if (parser_.capacity() < json.size() || parser_.max_depth() != kMaxDepth) {
      // More than was asked for, so that texts of similar length do not allocate again.
      const std::size_t capacity = std::max<std::size_t>(json.size(), 4096);
      if (const auto error = parser_.allocate(capacity, kMaxDepth)) return error;
      buffer_.reset(new char[capacity + simdjson::SIMDJSON_PADDING]());
    }
    std::memcpy(buffer_.get(), json.data(), json.size());
    std::memset(buffer_.get() + json.size(), ' ', simdjson::SIMDJSON_PADDING);
    return parser_.parse(buffer_.get(), json.size(), false);
  }

 private:
  dom::parser parser_;
  std::unique_ptr<char[]> buffer_;
};

bool read_with(PaddedParser* parser, std::string_view json, pb::Message* out, JsonMode mode,
               JsonRead* result) {
  dom::element root;
  if (const auto error = parser->parse(json).get(root)) {
    result->error = JsonError{"", describe_syntax(error)};
    return false;
  }
  const TypeHandle type(*out->GetDescriptor());
  return Reader(mode, result).read_message(root, *type, out, Path());
}

}  // namespace
}  // namespace protojson

std::string JsonError::message() const {
  return path.empty() ? "invalid JSON: " + rule : "invalid " + path + ": " + rule;
}

JsonRead read_json(std::string_view json, google::protobuf::Message* out, JsonMode mode) {
  JsonRead result;
  out->Clear();
  if (json.empty()) {
    result.error = JsonError{"", protojson::describe_syntax(simdjson::EMPTY)};
  } else if (json.size() <= protojson::kMaxKeptText) {
    // Kept by the thread, since allocating costs more than parsing a small text.
    static thread_local protojson::PaddedParser parser;
    protojson::read_with(&parser, json, out, mode, &result);
  } else {
    protojson::PaddedParser parser;
    protojson::read_with(&parser, json, out, mode, &result);
  }
  return result;
}

}  // namespace writ
