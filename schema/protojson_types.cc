#include "schema/protojson_types.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <mutex>
#include <shared_mutex>

#include "schema/leaf.h"

namespace writ::protojson {
namespace {

namespace pb = google::protobuf;

bool is_generated(const pb::Descriptor& descriptor) {
  return descriptor.file()->pool() == pb::DescriptorPool::generated_pool();
}

std::string quoted(const std::string& name) {
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer>(out).String(
      name.data(), static_cast<rapidjson::SizeType>(name.size()));
  return {out.GetString(), out.GetSize()};
}

const MessageType& generated_type(const pb::Descriptor& descriptor) {
  static std::shared_mutex mutex;
  static TypeTable table;
  {
    const std::shared_lock lock(mutex);
    if (const MessageType* type = table.find(descriptor)) return *type;
  }
  const std::unique_lock lock(mutex);
  return table.build(descriptor);
}

}  // namespace

const MessageType* TypeTable::find(const pb::Descriptor& descriptor) const {
  const auto found = types_.find(&descriptor);
  return found == types_.end() ? nullptr : found->second.get();
}

const MessageType& TypeTable::build(const pb::Descriptor& descriptor) {
  std::unique_ptr<MessageType>& slot = types_[&descriptor];
  if (slot) return *slot;
  // In its place before its fields are looked at, since types can contain themselves.
  slot = std::make_unique<MessageType>();
  MessageType& type = *slot;
  type.descriptor = &descriptor;
  type.well_known = descriptor.well_known_type();
  if (is_generated(descriptor)) {
    const pb::Message* prototype =
        pb::MessageFactory::generated_factory()->GetPrototype(&descriptor);
    if (prototype) type.generated_reflection = prototype->GetReflection();
  }
  for (const pb::FieldDescriptor* field : fields_by_number(descriptor)) {
    const pb::Descriptor* message = field->message_type();
    const bool is_null_value =
        field->enum_type() && field->enum_type()->full_name() == "google.protobuf.NullValue";
    const bool is_value =
        message && message->well_known_type() == pb::Descriptor::WELLKNOWNTYPE_VALUE;
    type.fields.push_back(
        {field, &type, type.fields.size(), message ? &build(*message) : nullptr, is_null_value,
         is_null_value || is_value, field->cpp_type(), field->is_repeated(), field->is_map(),
         field->type() == pb::FieldDescriptor::TYPE_BYTES, quoted(field->json_name())});
  }
  type.places.resize(type.fields.size());
  for (const Field& field : type.fields) {
    type.places[static_cast<std::size_t>(field.descriptor->index())] = field.index;
    type.by_name.emplace(field.descriptor->json_name(), &field);
    type.by_name.emplace(field.descriptor->name(), &field);
  }
  return type;
}

TypeHandle::TypeHandle(const pb::Descriptor& descriptor)
    : type_(is_generated(descriptor) ? &generated_type(descriptor) : &own_.build(descriptor)) {}

}  // namespace writ::protojson
