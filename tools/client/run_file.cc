#include "tools/client/run_file.h"

#include <yaml-cpp/yaml.h>

#include "schema/protojson.h"
#include "service/json_text.h"
#include "tools/client/api.h"
#include "tools/client/printable.h"

namespace writ::client {
namespace {

namespace pb = google::protobuf;

constexpr std::size_t kMostJson = 4 * 1024 * 1024;  // what a server takes
constexpr int kMostNesting = 100;

/// Turns YAML into JSON by what the API wants in each place.
class JsonFromYaml {
 public:
  std::string convert(const YAML::Node& node, const pb::Descriptor& type) {
    append_message(node, &type, 0);
    return std::move(json_);
  }

 private:
  /// `type` is null where any JSON may stand.
  void append_message(const YAML::Node& node, const pb::Descriptor* type, int depth) {
    const auto field_of = [&](const std::string& name) {
      const pb::FieldDescriptor* field = type ? type->FindFieldByName(name) : nullptr;
      return field || !type ? field : type->FindFieldByCamelcaseName(name);
    };
    json_ += '{';
    for (const auto& member : node) {
      if (json_.back() != '{') json_ += ',';
      const std::string name = member.first.Scalar();
      append_json_string(name, &json_);
      json_ += ':';
      append_field(member.second, field_of(name), depth + 1);
    }
    json_ += '}';
  }

  void append_field(const YAML::Node& node, const pb::FieldDescriptor* field, int depth) {
    const bool text = field && field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING;
    const pb::Descriptor* type = field ? field->message_type() : nullptr;
    const bool any = type && type->file()->package() == "google.protobuf";
    append(node, any ? nullptr : type, text, depth);
  }

  void append(const YAML::Node& node, const pb::Descriptor* type, bool text, int depth) {
    // Aliases can make much out of little.
    if (json_.size() > kMostJson)
      throw UsageError("the file is too large: more than 4 MiB as JSON");
    if (depth > kMostNesting) throw UsageError("the file is nested too deeply");
    if (node.IsMap() && type && type->options().map_entry()) {
      append_map(node, type->field(1), depth);
    } else if (node.IsMap()) {
      append_message(node, type, depth);
    } else if (node.IsSequence()) {
      json_ += '[';
      for (const YAML::Node& element : node) {
        if (json_.back() != '[') json_ += ',';
        append(element, type, text, depth + 1);
      }
      json_ += ']';
    } else if (text && !node.IsNull()) {
      append_json_string(node.Scalar(), &json_);
    } else {
      append_scalar(node);
    }
  }

  void append_map(const YAML::Node& node, const pb::FieldDescriptor* value, int depth) {
    json_ += '{';
    for (const auto& member : node) {
      if (json_.back() != '{') json_ += ',';
      append_json_string(member.first.Scalar(), &json_);
      json_ += ':';
      append_field(member.second, value, depth + 1);
    }
    json_ += '}';
  }

  void append_scalar(const YAML::Node& node) {
    const std::string text = node.IsNull() ? "null" : node.Scalar();
    // What is in quotes carries the tag "!".
    const bool as_it_is =
        node.IsNull() ||
        (node.Tag() != "!" && (text == "true" || text == "false" || is_json_number(text)));
    if (as_it_is)
      json_ += text;
    else
      append_json_string(text, &json_);
  }

  static bool is_json_number(const std::string& text) {
    pb::Value value;
    return !read_json(text, &value, JsonMode::kRequest).error &&
           value.kind_case() == pb::Value::kNumberValue;
  }

  std::string json_;
};

}  // namespace

RunFile read_run_file(const std::string& text) {
  apply::v1::ApplyRunRequest request;
  JsonRead read;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) throw UsageError("the file must have `runSpec:` and `tasks:`");
    read = read_json(JsonFromYaml().convert(root, *request.GetDescriptor()), &request,
                     JsonMode::kRequest);
  } catch (const YAML::Exception& e) {
    std::string where;
    if (!e.mark.is_null()) where = "line " + std::to_string(e.mark.line + 1) + ": ";
    throw UsageError(where + "this is no YAML: " + printable(e.msg));
  }
  if (read.error) throw UsageError(printable(read.error->message()));
  if (request.has_key() || request.has_at())
    throw UsageError("the scope and the point are given by --domain, --project and --at");
  return {request.run_spec(),
          {request.tasks().begin(), request.tasks().end()},
          std::move(read.unknown_fields)};
}

}  // namespace writ::client
