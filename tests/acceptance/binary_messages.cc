#include "tests/acceptance/binary_messages.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <stdexcept>

#include "flyteidl2/settings/settings_service.pb.h"

namespace writ::test {
namespace {

namespace pb = google::protobuf;

std::unique_ptr<pb::Message> make(const pb::Descriptor& type) {
  return std::unique_ptr<pb::Message>(
      pb::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

}  // namespace

const pb::MethodDescriptor& settings_method(const std::string& name) {
  const auto* file = flyteidl2::settings::SettingsRecord::descriptor()->file();
  const auto* method = file->FindServiceByName("SettingsService")->FindMethodByName(name);
  if (method == nullptr) throw std::runtime_error("no method " + name);
  return *method;
}

std::string to_binary(const pb::Descriptor& type, const Json& json) {
  const auto message = make(type);
  const auto status = pb::util::JsonStringToMessage(json.dump(), message.get());
  if (!status.ok()) throw std::runtime_error(status.ToString() + " in " + json.dump());
  std::string bytes;
  {
    pb::io::StringOutputStream stream(&bytes);
    pb::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message->SerializeToCodedStream(&coded);
  }
  return bytes;
}

Json from_binary(const pb::Descriptor& type, const std::string& bytes) {
  const auto message = make(type);
  if (!message->ParseFromString(bytes)) throw std::runtime_error("not a " + type.full_name());
  std::string text;
  const auto status = pb::util::MessageToJsonString(*message, &text);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return Json::parse(text);
}

}  // namespace writ::test
