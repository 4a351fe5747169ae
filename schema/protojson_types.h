#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace writ::protojson {

struct MessageType;

/// What reading and writing need to know about a field, looked up once.
struct Field {
  const google::protobuf::FieldDescriptor* descriptor;
  const MessageType* owner;    ///< The type that has the field.
  std::size_t index;           ///< Its place in the owner's fields.
  const MessageType* message;  ///< The type of a message field, else null.
  bool is_null_value;          ///< A google.protobuf.NullValue, whose only value is JSON's null.
  bool takes_null;             ///< Whether null is a value of the field and not its absence.
  google::protobuf::FieldDescriptor::CppType cpp_type;
  bool is_repeated;  ///< A map, too.
  bool is_map;
  bool is_bytes;
  std::string key;  ///< Its camelCase name as it stands in a text, with quotes.
};

/// What reading and writing need to know about a message type. Immutable once built.
struct MessageType {
  const google::protobuf::Descriptor* descriptor;
  google::protobuf::Descriptor::WellKnownType well_known;
  /// Of generated messages, else null: asking a message for it costs more than using it.
  const google::protobuf::Reflection* generated_reflection;
  std::vector<Field> fields;  ///< By number.
  std::vector<std::size_t>
      places;  ///< Where in `fields` a field is, by its index in the descriptor.
  /// By camelCase and by proto name; the names are the descriptor's.
  std::unordered_map<std::string_view, const Field*> by_name;

  const google::protobuf::Reflection* reflection(const google::protobuf::Message& message) const {
    return generated_reflection ? generated_reflection : message.GetReflection();
  }

  const Field* find(std::string_view name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  }
};

/// Types by descriptor. Each is built with all types that can be reached from it.
class TypeTable {
 public:
  /// Null when it was not built yet.
  const MessageType* find(const google::protobuf::Descriptor& descriptor) const;
  const MessageType& build(const google::protobuf::Descriptor& descriptor);

 private:
  std::unordered_map<const google::protobuf::Descriptor*, std::unique_ptr<MessageType>> types_;
};

/// The type of one message for the duration of one call. Types of generated messages are kept for
/// the life of the program, since their descriptors live as long; others are built anew.
/// Thread-safe.
class TypeHandle {
 public:
  explicit TypeHandle(const google::protobuf::Descriptor& descriptor);
  const MessageType& operator*() const { return *type_; }

 private:
  TypeTable own_;
  const MessageType* type_;
};

}  // namespace writ::protojson
