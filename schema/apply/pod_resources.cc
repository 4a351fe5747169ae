#include "schema/apply/pod_resources.h"

#include <charconv>
#include <cmath>
#include <map>

#include "schema/quote.h"

namespace writ {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;
using google::protobuf::Value;

/// A member that is there and not null.
const Value* find(const Struct& in, const std::string& name) {
  const auto found = in.fields().find(name);
  const bool there = found != in.fields().end() && found->second.kind_case() != Value::kNullValue &&
                     found->second.kind_case() != Value::KIND_NOT_SET;
  return there ? &found->second : nullptr;
}

std::optional<Dimension> dimension_of(const std::string& resource) {
  if (resource == "cpu") return Dimension::kCpu;
  if (resource == "memory") return Dimension::kMemory;
  if (resource == "ephemeral-storage") return Dimension::kStorage;
  if (is_device(resource)) return Dimension::kGpu;
  return std::nullopt;
}

std::string name_of(const Value& container) {
  const Value* name = find(container.struct_value(), "name");
  return name ? name->string_value() : "";
}

struct Primary {
  Struct* container = nullptr;
  std::string path;
};

/// The primary container, null after refusing.
Primary find_primary(const std::string& path, flyteidl2::core::TaskTemplate* task,
                     Explained* explained) {
  flyteidl2::core::K8sPod& pod = *task->mutable_k8s_pod();
  const std::string list_path = path + ".k8s_pod.pod_spec.containers";
  const Value* list = find(pod.pod_spec(), "containers");
  if (!list || list->kind_case() != Value::kListValue || list->list_value().values().empty()) {
    explained->refuse(list_path, "must be a list of containers");
    return {};
  }
  for (int i = 0; i < list->list_value().values_size(); ++i) {
    if (list->list_value().values(i).kind_case() == Value::kStructValue) continue;
    explained->refuse(list_path + "[" + std::to_string(i) + "]", "must be an object");
    return {};
  }
  std::string name = pod.primary_container_name();
  if (const auto in_config = task->config().find("primary_container_name");
      name.empty() && in_config != task->config().end())
    name = in_config->second;
  const std::string name_path = path + ".k8s_pod.primary_container_name";
  ListValue& containers =
      *(*pod.mutable_pod_spec()->mutable_fields())["containers"].mutable_list_value();
  if (name.empty() && containers.values_size() > 1) {
    explained->refuse(name_path, "must name one of the " +
                                     std::to_string(containers.values_size()) + " containers");
    return {};
  }
  if (name.empty()) name = name_of(containers.values(0));
  Primary primary;
  for (Value& one : *containers.mutable_values()) {
    if (name_of(one) != name) continue;
    if (primary.container) {
      explained->refuse(list_path, "has two containers named " + quote(name));
      return {};
    }
    primary = {one.mutable_struct_value(), list_path + "[" + quote(name) + "]"};
  }
  if (!primary.container)
    explained->refuse(name_path, "there is no container " + quote(name) + " in the pod spec");
  return primary;
}

/// The text that a number is the shortest form of.
std::string text_of(double number) {
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), number).ptr;
  return {std::begin(buffer), end};
}

/// What the primary container says of one resource.
struct Line {
  /// Refers to what is below.
  Asked asked;
  std::optional<Quantity> request, limit;
  std::string request_text, limit_text;
};

/// `requests` or `limits` of a container, checked.
class ResourceLists {
 public:
  ResourceLists(Primary primary, Explained* explained)
      : primary_(std::move(primary)), explained_(*explained) {
    if (const Value* resources = group(*primary_.container, "resources", primary_.path)) {
      read("requests", resources->struct_value());
      read("limits", resources->struct_value());
    }
  }

  std::map<std::string, Line>& lines() { return lines_; }

  std::string path(const std::string& list, const std::string& resource) const {
    return primary_.path + ".resources." + list + "[" + quote(resource) + "]";
  }

  void write(const std::string& list, const std::string& resource, const std::string& text) {
    Struct* resources = member(primary_.container, "resources");
    (*member(resources, list)->mutable_fields())[resource].set_string_value(text);
  }

 private:
  static Struct* member(Struct* of, const std::string& name) {
    return (*of->mutable_fields())[name].mutable_struct_value();
  }

  /// An object, null when it is absent or, after refusing, another kind of value.
  const Value* group(const Struct& in, const std::string& name, const std::string& above) {
    const Value* value = find(in, name);
    if (!value || value->kind_case() == Value::kStructValue) return value;
    explained_.refuse(above + "." + name, "must be an object");
    return nullptr;
  }

  void read(const std::string& list, const Struct& resources) {
    const Value* values = group(resources, list, primary_.path + ".resources");
    if (!values) return;
    for (const auto& [resource, value] : values->struct_value().fields()) {
      std::string text;
      if (value.kind_case() == Value::kNumberValue && std::isfinite(value.number_value())) {
        text = text_of(value.number_value());
      } else if (value.kind_case() == Value::kStringValue) {
        text = value.string_value();
      } else {
        explained_.refuse(path(list, resource), "must be a quantity, as text or as a number");
        continue;
      }
      auto quantity = read_quantity(
          text, [&, &name = resource] { return path(list, name); }, &explained_);
      const auto dimension = dimension_of(resource);
      if (!dimension || !quantity) continue;
      Line& line = lines_[resource];
      line.asked.dimension = *dimension;
      const bool is_request = list == "requests";
      std::optional<Quantity>& kept = is_request ? line.request : line.limit;
      kept = std::move(quantity);
      (is_request ? line.asked.request : line.asked.limit) = &*kept;
      (is_request ? line.request_text : line.limit_text) = std::move(text);
    }
  }

  const Primary primary_;
  Explained& explained_;
  std::map<std::string, Line> lines_;
};

}  // namespace

AskedDevices apply_to_pod(const ResourceRules& rules, const std::string& path,
                          flyteidl2::core::TaskTemplate* task, Explained* explained) {
  Primary primary = find_primary(path, task, explained);
  if (!primary.container) return {};
  ResourceLists lists(std::move(primary), explained);
  // What the rules may add; a device is never added.
  for (const char* resource : {"cpu", "memory", "ephemeral-storage"})
    lists.lines()[resource].asked.dimension = *dimension_of(resource);
  AskedDevices devices;
  for (const auto& [resource, line] : lists.lines()) {
    const Rulings rulings = decide_resource(rules, line.asked);
    const auto put = [&, &name = resource](const Ruling& ruling, const char* list,
                                           const std::string* before) {
      const std::string after = explain_ruling(
          ruling, lists.path(list, name), before,
          ruling.kept_down_by_own_limit ? lists.path("limits", name) : "", explained);
      lists.write(list, name, after);
    };
    if (rulings.request)
      put(*rulings.request, "requests", line.asked.request ? &line.request_text : nullptr);
    if (rulings.limit) put(*rulings.limit, "limits", line.asked.limit ? &line.limit_text : nullptr);
    if (line.asked.dimension != Dimension::kGpu) continue;
    warn_of_device(
        line.asked, rulings, [&, &name = resource] { return lists.path("requests", name); },
        explained);
    if (!asks_for_device(line.asked, rulings)) continue;
    devices.any = true;
    devices.names.push_back(resource);
  }
  return devices;
}

}  // namespace writ
