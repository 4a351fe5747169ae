#include "schema/protojson_reader.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "schema/base64.h"
#include "schema/near_miss.h"
#include "schema/protojson_text.h"
#include "schema/quote.h"

namespace writ::protojson {

std::optional<std::string_view> as_text(dom::element in) {
  std::string_view text;
  if (in.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

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
  if (field.is_map) return read_map(in, field, out, path);
  if (field.is_repeated) return read_array(in, field, out, path);
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
  switch (field.cpp_type) {
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
      if (field.cpp_type == pb::FieldDescriptor::CPPTYPE_UINT64) {
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
      if (field.cpp_type == pb::FieldDescriptor::CPPTYPE_INT64) {
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
  switch (field.cpp_type) {
    case pb::FieldDescriptor::CPPTYPE_MESSAGE: {
      pb::Message* inner = field.is_repeated ? reflection->AddMessage(out, descriptor)
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
      if (field.is_repeated) {
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
  if (field.is_bytes) {
    auto bytes = decode_base64(*text);
    if (!bytes) return refuse_value(path, "must be base64");
    value = std::move(*bytes);
  } else {
    value = *text;
  }
  const pb::Reflection* reflection = field.owner->reflection(*out);
  if (field.is_repeated) {
    reflection->AddString(out, field.descriptor, std::move(value));
  } else {
    reflection->SetString(out, field.descriptor, std::move(value));
  }
  return Outcome::kStored;
}

namespace {

/// The rule that an integer of this type obeys, in words.
template <typename Integer>
std::string range_rule() {
  using Limits = std::numeric_limits<Integer>;
  return "must be a whole number from " + std::to_string(Limits::min()) + " to " +
         std::to_string(Limits::max());
}

}  // namespace

Outcome Reader::read_number(dom::element in, const Field& field, pb::Message* out,
                            const Path& path) {
  const pb::FieldDescriptor* descriptor = field.descriptor;
  const pb::Reflection* reflection = field.owner->reflection(*out);
  const auto store = [&]<typename Integer>(const auto& number, Integer, auto set, auto add) {
    using Limits = std::numeric_limits<Integer>;
    if (!number || *number < Limits::min() || *number > Limits::max()) {
      return refuse_value(path, range_rule<Integer>());
    }
    if (field.is_repeated) {
      (reflection->*add)(out, descriptor, static_cast<Integer>(*number));
    } else {
      (reflection->*set)(out, descriptor, static_cast<Integer>(*number));
    }
    return Outcome::kStored;
  };
  using R = pb::Reflection;
  switch (field.cpp_type) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return store(as_int64(in), std::int32_t{}, &R::SetInt32, &R::AddInt32);
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return store(as_int64(in), std::int64_t{}, &R::SetInt64, &R::AddInt64);
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return store(as_uint64(in), std::uint32_t{}, &R::SetUInt32, &R::AddUInt32);
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return store(as_uint64(in), std::uint64_t{}, &R::SetUInt64, &R::AddUInt64);
    default:
      break;
  }
  const auto number = as_double(in);
  if (!number) return refuse_value(path, "must be a number in range");
  const bool is_float = descriptor->cpp_type() == pb::FieldDescriptor::CPPTYPE_FLOAT;
  if (is_float && std::isfinite(*number) && std::abs(*number) > FLT_MAX) {
    return refuse_value(path, "must be a number in range");
  }
  if (is_float && field.is_repeated) {
    reflection->AddFloat(out, descriptor, static_cast<float>(*number));
  } else if (is_float) {
    reflection->SetFloat(out, descriptor, static_cast<float>(*number));
  } else if (field.is_repeated) {
    reflection->AddDouble(out, descriptor, *number);
  } else {
    reflection->SetDouble(out, descriptor, *number);
  }
  return Outcome::kStored;
}

namespace {

std::string unknown_name_rule(std::string_view name, const pb::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  std::string rule = "unknown " + type.full_name() + " " + quote(name.substr(0, 128));
  const std::string near = nearest_name(name, names);
  return near.empty() ? rule : rule + " (did you mean " + quote(near) + "?)";
}

}  // namespace

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
    // Whatever its number, it would be written as null.
    if (field.is_null_value && number != 0) return refuse_value(path, "must be null");
  }
  const pb::Reflection* reflection = field.owner->reflection(*out);
  if (field.is_repeated) {
    reflection->AddEnumValue(out, field.descriptor, number);
  } else {
    reflection->SetEnumValue(out, field.descriptor, number);
  }
  return Outcome::kStored;
}

}  // namespace writ::protojson
