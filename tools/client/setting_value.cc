#include "tools/client/setting_value.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "flyteidl2/core/tasks.pb.h"
#include "schema/protojson.h"
#include "schema/quote.h"
#include "schema/utf8.h"
#include "service/json_text.h"
#include "tools/client/printable.h"
#include "tools/client/yaml_text.h"

namespace writ::client {
namespace {

namespace pb = google::protobuf;
namespace fs = flyteidl2::settings;
using flyteidl2::core::GPUAccelerator;
using Kind = pb::FieldDescriptor;

/// Models are numbered in hundreds, one for each class of devices.
constexpr int kModelsOfClass = 100;

/// The accelerator that a name alone means: with model and class where the name is known.
GPUAccelerator accelerator_named(const std::string& name) {
  GPUAccelerator accelerator;
  accelerator.set_device(name);
  const pb::EnumDescriptor* models = flyteidl2::core::AcceleratorModel_descriptor();
  for (int i = 0; i < models->value_count(); ++i) {
    const pb::EnumValueDescriptor* model = models->value(i);
    if (name.empty() || model->options().GetExtension(flyteidl2::core::accelerator_name) != name)
      continue;
    accelerator.set_accelerator_model(
        static_cast<flyteidl2::core::AcceleratorModel>(model->number()));
    if (const int device_class = model->number() / kModelsOfClass;
        GPUAccelerator::DeviceClass_IsValid(device_class))
      accelerator.set_device_class(static_cast<GPUAccelerator::DeviceClass>(device_class));
  }
  return accelerator;
}

bool is_accelerator(const Setting& setting) {
  return setting.shape.value->message_type() == GPUAccelerator::descriptor();
}

void set_state(const Setting& setting, fs::SettingState state, pb::Message* leaf) {
  leaf->Clear();
  leaf->GetReflection()->SetEnumValue(leaf, setting.shape.state, state);
}

bool read_bool(const std::string& text) {
  // YAML 1.1's words, which the readers of such files know.
  std::string lower = text;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const char* yes : {"true", "yes", "on"})
    if (lower == yes) return true;
  for (const char* no : {"false", "no", "off"})
    if (lower == no) return false;
  throw ValueError(quote(text) + " is neither true nor false");
}

/// Reads the value in the form that the settings' own JSON gives it.
void read_value(const Setting& setting, const std::string& json, const std::string& text,
                pb::Message* leaf) {
  std::string whole = "{";
  append_json_string(setting.shape.value->json_name(), &whole);
  whole += ":" + json + "}";
  const JsonRead read = read_json(whole, leaf, JsonMode::kRequest);
  if (read.error) {
    if (setting.shape.value->type() == Kind::TYPE_INT64)
      throw ValueError(quote(text) + " is no whole number of 64 bits");
    throw ValueError(quote(text) + ": " + read.error->rule);
  }
  if (!read.unknown_fields.empty())
    throw ValueError("there is no field " + quote(read.unknown_fields.front()));
}

void read_scalar(const Setting& setting, const std::string& text, pb::Message* leaf) {
  if (!is_utf8(text)) throw ValueError("the value is not UTF-8");
  const pb::FieldDescriptor* field = setting.shape.value;
  const pb::Reflection* reflection = leaf->GetReflection();
  if (field->cpp_type() == Kind::CPPTYPE_STRING) {
    reflection->SetString(leaf, field, text);
  } else if (field->cpp_type() == Kind::CPPTYPE_BOOL) {
    reflection->SetBool(leaf, field, read_bool(text));
  } else if (is_accelerator(setting)) {
    reflection->MutableMessage(leaf, field)->CopyFrom(accelerator_named(text));
  } else if (field->cpp_type() == Kind::CPPTYPE_MESSAGE) {
    throw ValueError("entries are needed, `{}` for none, or " + std::string(kUnsetToken));
  } else {
    std::string json;
    append_json_string(text, &json);
    read_value(setting, json, text, leaf);
  }
}

/// What a plain scalar, or one in quotes, of a node is.
bool is_text(const YAML::Node& node) {
  const std::string& tag = node.Tag();
  return node.IsScalar() &&
         (tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:str");
}

void read_map(const YAML::Node& node, fs::StringMap* map) {
  for (const auto& entry : node) {
    if (!is_text(entry.first)) throw ValueError("the name of an entry must be a text");
    const std::string& key = entry.first.Scalar();
    if (map->entries().contains(key)) throw ValueError("entry " + quote(key) + " is there twice");
    if (entry.second.IsNull())
      throw ValueError("entry " + quote(key) + " has no value; write \"\" for an empty one");
    if (!is_text(entry.second)) throw ValueError("the value of " + quote(key) + " must be a text");
    (*map->mutable_entries())[key] = entry.second.Scalar();
  }
}

/// JSON of a YAML mapping of texts, for messages.
std::string json_of(const YAML::Node& node) {
  std::string json = "{";
  for (const auto& member : node) {
    if (!is_text(member.first) || !is_text(member.second))
      throw ValueError("only simple values may be in it");
    if (json.size() > 1) json += ",";
    append_json_string(member.first.Scalar(), &json);
    json += ":";
    const std::string& text = member.second.Scalar();
    if (member.second.Tag() == "?" && (text == "true" || text == "false"))
      json += text;
    else
      append_json_string(text, &json);
  }
  return json + "}";
}

void read_mapping(const Setting& setting, const YAML::Node& node, pb::Message* leaf) {
  if (setting.shape.is_string_map()) {
    // Also without entries it is a value.
    read_map(node, static_cast<fs::StringMap*>(
                       leaf->GetReflection()->MutableMessage(leaf, setting.shape.value)));
  } else if (setting.shape.value->cpp_type() == Kind::CPPTYPE_MESSAGE) {
    read_value(setting, json_of(node), "it", leaf);
  } else {
    throw ValueError("one value is needed, not entries");
  }
  leaf->GetReflection()->SetEnumValue(leaf, setting.shape.state, fs::SETTING_STATE_VALUE);
}

}  // namespace

void set_unset(const Setting& setting, pb::Message* leaf) {
  set_state(setting, fs::SETTING_STATE_UNSET, leaf);
}

void set_from_text(const Setting& setting, const std::string& text, pb::Message* leaf) {
  if (setting.shape.value->cpp_type() == Kind::CPPTYPE_MESSAGE &&
      (!is_accelerator(setting) || text.starts_with('{'))) {
    set_state(setting, fs::SETTING_STATE_INHERIT, leaf);
    YAML::Node node;
    try {
      node = YAML::Load(text);
    } catch (const YAML::Exception&) {
      throw ValueError(quote(text) + " is no YAML; write entries as {name: value}");
    }
    if (!node.IsMap()) throw ValueError("entries are needed, as in {name: value}");
    return read_mapping(setting, node, leaf);
  }
  if (text == kUnsetToken) throw ValueError("to take a setting back, use `writ unset`");
  leaf->Clear();
  read_scalar(setting, text, leaf);
  leaf->GetReflection()->SetEnumValue(leaf, setting.shape.state, fs::SETTING_STATE_VALUE);
}

void set_from_yaml(const Setting& setting, const YAML::Node& node, bool empty, pb::Message* leaf) {
  leaf->Clear();
  if (node.IsMap()) return read_mapping(setting, node, leaf);
  const bool takes_empty = setting.shape.value->cpp_type() == Kind::CPPTYPE_STRING;
  if (node.IsNull() && !(empty && takes_empty))
    throw ValueError("a value is needed, or " + std::string(kUnsetToken));
  if (!node.IsNull() && !is_text(node)) throw ValueError("a list or a tag is no value");
  const std::string text = node.IsNull() ? "" : node.Scalar();
  // In quotes too, as JSON has it; an explicit `!!str` is how to write that text itself.
  if (text == kUnsetToken && node.Tag() != "tag:yaml.org,2002:str") return set_unset(setting, leaf);
  read_scalar(setting, text, leaf);
  leaf->GetReflection()->SetEnumValue(leaf, setting.shape.state, fs::SETTING_STATE_VALUE);
}

std::string yaml_value(const Setting& setting, const pb::Message& leaf) {
  if (leaf_state(leaf, setting.shape) == fs::SETTING_STATE_UNSET) return kUnsetToken;
  const pb::FieldDescriptor* field = setting.shape.value;
  const pb::Reflection* reflection = leaf.GetReflection();
  switch (field->cpp_type()) {
    case Kind::CPPTYPE_STRING: {
      const std::string text = reflection->GetString(leaf, field);
      return (text == kUnsetToken ? "!!str " : "") + yaml_string(text);
    }
    case Kind::CPPTYPE_BOOL:
      return reflection->GetBool(leaf, field) ? "true" : "false";
    case Kind::CPPTYPE_INT64:
      return std::to_string(reflection->GetInt64(leaf, field));
    case Kind::CPPTYPE_MESSAGE:
      break;
    default: {
      // As in `{"state":…,"value":…}`: a number or a name.
      std::string text;
      pb::TextFormat::PrintFieldValueToString(leaf, field, -1, &text);
      return text;
    }
  }
  if (setting.shape.is_string_map()) return "{}";
  const pb::Message& value = reflection->GetMessage(leaf, field);
  if (is_accelerator(setting)) {
    const auto& accelerator = static_cast<const GPUAccelerator&>(value);
    if (accelerator.device() != kUnsetToken && !accelerator.device().empty() &&
        pb::util::MessageDifferencer::Equals(accelerator, accelerator_named(accelerator.device())))
      return yaml_string(accelerator.device());
  }
  return write_json(value);
}

std::string shown(const audit::v1::LeafValue& value) {
  if (value.state() == fs::SETTING_STATE_UNSET) return kUnsetToken;
  if (value.state() == fs::SETTING_STATE_INHERIT) return "(inherits)";
  switch (value.value().kind_case()) {
    case pb::Value::kStringValue: {
      const std::string text = printable(value.value().string_value());
      const bool bare = !text.empty() && text.front() != ' ' && text.back() != ' ' &&
                        text.front() != '(' && text != kUnsetToken;
      return bare ? text : quote(value.value().string_value());
    }
    case pb::Value::kStructValue: {
      GPUAccelerator whole;
      const std::string json = write_json(value.value());
      if (!read_json(json, &whole, JsonMode::kStored).error &&
          pb::util::MessageDifferencer::Equals(whole, accelerator_named(whole.device())))
        return printable(whole.device());
      return printable(json);
    }
    case pb::Value::KIND_NOT_SET:
      return "(map)";
    default:
      return printable(write_json(value.value()));
  }
}

}  // namespace writ::client
