// Reading of the well-known types that have a JSON form of their own.

#include <algorithm>
#include <memory>

#include "schema/protojson_reader.h"
#include "schema/protojson_text.h"
#include "schema/stable_bytes.h"

namespace writ::protojson {

using dom::element_type;

namespace {

/// The message type that a type URL names, among the generated ones.
const pb::Descriptor* find_type(std::string_view url) {
  const std::size_t slash = url.rfind('/');
  if (slash == std::string_view::npos) return nullptr;
  return pb::DescriptorPool::generated_pool()->FindMessageTypeByName(
      std::string(url.substr(slash + 1)));
}

}  // namespace

bool Reader::read_any(dom::element in, const MessageType& type, pb::Message* out,
                      const Path& path) {
  if (!in.is_object()) return refuse(path, "must be an object");
  const dom::object object = in.get_object().value_unsafe();
  if (object.size() == 0) return true;
  dom::element url_element;
  if (object.at_key("@type").get(url_element) != simdjson::SUCCESS) {
    return refuse(path, "must have an \"@type\"");
  }
  const auto url = as_text(url_element);
  const pb::Descriptor* inner_type = url ? find_type(*url) : nullptr;
  if (!inner_type) return refuse(Path(path, "@type"), "must name a known message type");
  const std::unique_ptr<pb::Message> inner(
      pb::MessageFactory::generated_factory()->GetPrototype(inner_type)->New());
  const TypeHandle handle(*inner_type);
  if ((*handle).well_known == pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED) {
    if (!read_fields(object, *handle, inner.get(), path, "@type")) return false;
  } else {
    if (!read_any_value(object, *handle, inner.get(), path)) return false;
  }
  std::string bytes = stable_bytes(*inner);
  // Messages nest deeper than the JSON that they come from, and nobody could unpack these bytes.
  if (!inner->ParseFromString(bytes)) return refuse(path, "nests too deep for an Any");
  const pb::Reflection* reflection = type.reflection(*out);
  reflection->SetString(out, type.fields[0].descriptor, std::string(*url));
  reflection->SetString(out, type.fields[1].descriptor, std::move(bytes));
  return true;
}

bool Reader::read_any_value(dom::object in, const MessageType& type, pb::Message* out,
                            const Path& path) {
  if (!check_unique(in, path)) return false;
  bool has_value = false;
  for (const auto& [name, value] : in) {
    const Path inner(path, name);
    if (name == "value") {
      has_value = true;
      if (!read_message(value, type, out, inner)) return false;
    } else if (name != "@type") {
      if (!check_unique_deep(value, inner)) return false;
      note_ignored(inner);
    }
  }
  return has_value || refuse(path, "must have a \"value\"");
}

bool Reader::read_value_message(dom::element in, const MessageType& type, pb::Message* out,
                                const Path& path) {
  const auto member = [&](int number) -> const Field& {
    return type.fields[static_cast<std::size_t>(number - 1)];
  };
  // Numbers of google.protobuf.Value's oneof.
  switch (in.type()) {
    case element_type::NULL_VALUE:
      return read_enum(in, member(1), out, path) == Outcome::kStored;
    case element_type::STRING:
      return read_text(in, member(3), out, path) == Outcome::kStored;
    case element_type::BOOL:
      return read_value(in, member(4), out, path) == Outcome::kStored;
    case element_type::OBJECT:
      return read_value(in, member(5), out, path) == Outcome::kStored;
    case element_type::ARRAY:
      return read_value(in, member(6), out, path) == Outcome::kStored;
    default:
      return read_number(in, member(2), out, path) == Outcome::kStored;
  }
}

bool Reader::read_time(dom::element in, const MessageType& type, pb::Message* out,
                       const Path& path) {
  const bool is_timestamp = type.well_known == pb::Descriptor::WELLKNOWNTYPE_TIMESTAMP;
  const auto text = as_text(in);
  const auto parts = !text          ? std::nullopt
                     : is_timestamp ? parse_timestamp(*text)
                                    : parse_duration(*text);
  if (!parts) {
    return refuse(path, is_timestamp ? "must be an RFC 3339 time such as 2025-01-31T12:00:00Z"
                                     : "must be seconds such as 1.5s");
  }
  type.reflection(*out)->SetInt64(out, type.fields[0].descriptor, parts->seconds);
  type.reflection(*out)->SetInt32(out, type.fields[1].descriptor, parts->nanos);
  return true;
}

bool Reader::read_field_mask(dom::element in, const MessageType& type, pb::Message* out,
                             const Path& path) {
  const auto text = as_text(in);
  if (!text) return refuse(path, "must be a string");
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto mask_path = to_snake_case(rest.substr(0, comma));
    if (!mask_path || mask_path->empty()) {
      return refuse(path, "must be camelCase field paths joined by commas");
    }
    type.reflection(*out)->AddString(out, type.fields[0].descriptor, *mask_path);
    if (comma + 1 == rest.size()) return refuse(path, "must not end with a comma");
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return true;
}

}  // namespace writ::protojson
