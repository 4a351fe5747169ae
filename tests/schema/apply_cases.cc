#include "tests/schema/apply_cases.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

#include "schema/protojson.h"

namespace writ {
namespace {

namespace pb = google::protobuf;
namespace st = flyteidl2::settings;

void put_value(pb::Message* leaf, const LeafShape& shape, const std::string& value) {
  const pb::Reflection* reflection = leaf->GetReflection();
  switch (shape.value->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return reflection->SetString(leaf, shape.value, value);
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return reflection->SetInt64(leaf, shape.value, std::stoll(value));
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return reflection->SetBool(leaf, shape.value, value == "true");
    default:
      break;
  }
  pb::Message* message = reflection->MutableMessage(leaf, shape.value);
  if (auto* accelerator = dynamic_cast<flyteidl2::core::GPUAccelerator*>(message)) {
    accelerator->set_device(value);
    return;
  }
  std::istringstream entries(value);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const std::size_t equals = entry.find('=');
    (*dynamic_cast<st::StringMap&>(*message).mutable_entries())[entry.substr(0, equals)] =
        entry.substr(equals + 1);
  }
}

std::string told(const apply::v1::Change& change) {
  std::string line = change.path() + ": ";
  line += (change.has_before() ? change.before() : "nothing") + " -> " + change.after() + " ";
  line += apply::v1::Action_Name(change.action()).substr(7);
  if (!change.setting().empty())
    line += " by " + change.setting() + "@" + st::ScopeLevel_Name(change.scope_level()).substr(12);
  const apply::v1::Bound& bound = change.bounded_by();
  if (!bound.setting().empty())
    line +=
        ", kept by " + bound.setting() + "@" + st::ScopeLevel_Name(bound.scope_level()).substr(12);
  if (!bound.field().empty()) line += ", kept by " + bound.field();
  return line;
}

}  // namespace

st::Settings settings_saying(const std::vector<Say>& says) {
  st::Settings settings;
  for (const Say& say : says) {
    pb::Message* at = &settings;
    std::istringstream steps(say.path);
    for (std::string step; std::getline(steps, step, '.');) {
      const pb::FieldDescriptor* field = at->GetDescriptor()->FindFieldByName(step);
      BOOST_REQUIRE_MESSAGE(field != nullptr, "no setting " << say.path);
      at = at->GetReflection()->MutableMessage(at, field);
    }
    const auto shape = leaf_shape(*at->GetDescriptor());
    BOOST_REQUIRE(shape);
    at->GetReflection()->SetEnumValue(at, shape->state, say.state);
    if (say.state == st::SETTING_STATE_VALUE) put_value(at, *shape, say.value);
  }
  return settings;
}

template <typename Message>
Message message_of(const std::string& json) {
  Message message;
  const JsonRead read = read_json(json, &message, JsonMode::kRequest);
  BOOST_REQUIRE_MESSAGE(!read.error, json << ": " << read.error->message());
  BOOST_REQUIRE_MESSAGE(read.unknown_fields.empty(), json << " has unknown fields");
  return message;
}
template flyteidl2::task::RunSpec message_of(const std::string& json);
template flyteidl2::core::TaskTemplate message_of(const std::string& json);

std::vector<std::string> AppliedRun::changes() const {
  std::vector<std::string> lines;
  for (const apply::v1::Change& change : explained.changes) lines.push_back(told(change));
  return lines;
}

std::vector<std::string> AppliedRun::violations() const {
  std::vector<std::string> lines;
  for (const Violation& violation : explained.violations)
    lines.push_back(violation.path + " | " + violation.message);
  return lines;
}

std::string AppliedRun::run_json() const { return write_json(run); }
std::string AppliedRun::task_json(int i) const { return write_json(tasks.at(i)); }

AppliedRun applied(const std::vector<std::vector<Say>>& chain, const std::string& run,
                   const std::vector<std::string>& tasks) {
  std::vector<st::Settings> settings;
  for (const auto& says : chain) settings.push_back(settings_saying(says));
  std::vector<Level> levels;
  for (std::size_t i = 0; i < settings.size(); ++i)
    levels.push_back({static_cast<Scope>(i), &settings[i]});
  AppliedRun out;
  out.run = message_of<flyteidl2::task::RunSpec>(run);
  for (const std::string& task : tasks)
    *out.tasks.Add() = message_of<flyteidl2::core::TaskTemplate>(task);
  out.explained = apply_settings(levels, &out.run, &out.tasks);
  return out;
}

namespace {

/// `CPU=1,GPU=2` as a list of entries.
std::string entry_list(const std::string& entries) {
  std::string out;
  std::istringstream in(entries);
  for (std::string entry; std::getline(in, entry, ',');) {
    const std::size_t equals = entry.find('=');
    out += out.empty() ? "" : ",";
    out += R"({"name":")" + entry.substr(0, equals) + R"(","value":")" + entry.substr(equals + 1) +
           R"("})";
  }
  return "[" + out + "]";
}

/// `cpu=1,memory="2Gi"` as an object; a value is JSON.
std::string value_object(const std::string& entries) {
  std::string out;
  std::istringstream in(entries);
  for (std::string entry; std::getline(in, entry, ',');) {
    const std::size_t equals = entry.find('=');
    out += out.empty() ? "" : ",";
    out += "\"" + entry.substr(0, equals) + "\":" + entry.substr(equals + 1);
  }
  return "{" + out + "}";
}

}  // namespace

std::string container_task(const std::string& requests, const std::string& limits) {
  if (requests.empty() && limits.empty()) return R"({"container":{}})";
  return R"({"container":{"resources":{"requests":)" + entry_list(requests) + R"(,"limits":)" +
         entry_list(limits) + "}}}";
}

std::string pod_task(const std::string& requests, const std::string& limits) {
  std::string lists;
  if (!requests.empty()) lists += R"("requests":)" + value_object(requests);
  if (!limits.empty())
    lists += (lists.empty() ? "" : ",") + (R"("limits":)" + value_object(limits));
  const std::string resources = lists.empty() ? "" : R"(,"resources":{)" + lists + "}";
  return R"({"k8sPod":{"primaryContainerName":"main","podSpec":{"containers":[{"name":"main")" +
         resources + "}]}}}";
}

}  // namespace writ
