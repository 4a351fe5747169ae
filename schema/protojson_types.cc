#include "schema/protojson_types.h"

#include <mutex>
#include <shared_mutex>

#include "schema/json_output.h"
#include "schema/leaf.h"

namespace writ::protojson {
namespace {

namespace pb = google::protobuf;

bool is_generated(const pb::Descriptor& descriptor) {
  return descriptor.file()->pool() == pb::DescriptorPool::generated_pool();
}

WireType wire_type_of(const pb::FieldDescriptor& field) {
  switch (field.type()) {
    case pb::FieldDescriptor::TYPE_FIXED32:
    case pb::FieldDescriptor::TYPE_SFIXED32:
    case pb::FieldDescriptor::TYPE_FLOAT:
      return WireType::kFixed32;
    case pb::FieldDescriptor::TYPE_FIXED64:
    case pb::FieldDescriptor::TYPE_SFIXED64:
    case pb::FieldDescriptor::TYPE_DOUBLE:
      return WireType::kFixed64;
    case pb::FieldDescriptor::TYPE_STRING:
    case pb::FieldDescriptor::TYPE_BYTES:
    case pb::FieldDescriptor::TYPE_MESSAGE:
      return WireType::kBytes;
    case pb::FieldDescriptor::TYPE_GROUP:
      return WireType::kBeginGroup;
    default:
      return WireType::kVarint;
  }
}

std::vector<std::string> enum_texts(const pb::FieldDescriptor& field) {
  constexpr int kMost = 256;
  std::vector<std::string> texts;
  for (int i = 0; field.enum_type() && i < field.enum_type()->value_count(); ++i) {
    const pb::EnumValueDescriptor& value = *field.enum_type()->value(i);
    if (value.number() < 0 || value.number() >= kMost) continue;
    const auto place = static_cast<std::size_t>(value.number());
    if (texts.size() <= place) texts.resize(place + 1);
    // Of several names of a number the first is written.
    if (texts[place].empty()) texts[place] = JsonOutput::quoted(value.name());
  }
  return texts;
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
         is_null_value || is_value, field->cpp_type(), field->type(), field->is_repeated(),
         field->is_map(), field->type() == pb::FieldDescriptor::TYPE_BYTES, wire_type_of(*field),
         field->is_packable(), enum_texts(*field), JsonOutput::quoted(field->json_name()) + ":"});
  }
  for (const Field& field : type.fields) {
    type.by_name.emplace(field.descriptor->json_name(), &field);
    type.by_name.emplace(field.descriptor->name(), &field);
  }
  return type;
}

TypeHandle::TypeHandle(const pb::Descriptor& descriptor)
    : type_(is_generated(descriptor) ? &generated_type(descriptor) : &own_.build(descriptor)) {}

}  // namespace writ::protojson
