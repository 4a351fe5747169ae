#include "schema/unknown_fields.h"

#include <google/protobuf/unknown_field_set.h>

#include <set>

namespace writ {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kMost = 16;

void collect(const Message& message, const std::string& prefix, std::vector<std::string>* paths) {
  const auto* const reflection = message.GetReflection();
  std::set<int> numbers;
  const auto& unknown = reflection->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) numbers.insert(unknown.field(i).number());
  for (const int number : numbers)
    if (paths->size() < kMost) paths->push_back(prefix + std::to_string(number));
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
    const std::string below = prefix + field->name() + ".";
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count && paths->size() < kMost; ++i)
      collect(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                   : reflection->GetMessage(message, field),
              below, paths);
  }
}

}  // namespace

std::vector<std::string> unknown_fields(const Message& message) {
  std::vector<std::string> paths;
  collect(message, "", &paths);
  return paths;
}

}  // namespace writ
