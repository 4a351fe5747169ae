#include "tests/acceptance/json.h"

#include <rapidjson/reader.h>

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <stdexcept>

namespace writ::test {
namespace {

/// Builds values from the parser's events.
class Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  explicit Builder(Json* root) : open_{root} {}

  bool Null() { return put(Json()); }
  bool Bool(bool value) { return put(Json::boolean(value)); }
  bool RawNumber(const char* digits, rapidjson::SizeType size, bool) {
    return put(Json::number(std::string(digits, size)));
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return put(Json(std::string(text, size)));
  }
  bool StartObject() { return put(Json::object()); }
  bool StartArray() { return put(Json::array()); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    auto& members = open_.back()->members();
    members.emplace_back(std::string(text, size), Json());
    return true;
  }
  bool EndObject(rapidjson::SizeType) { return end(); }
  bool EndArray(rapidjson::SizeType) { return end(); }

 private:
  // The container at hand grows only when those inside it have ended, so pointers stay good.
  bool put(Json value) {
    Json* place = open_.back();
    if (started_ && place->kind() == Json::Kind::kArray) {
      place->elements().emplace_back();
      place = &place->elements().back();
    } else if (started_) {
      place = &place->members().back().second;
    }
    *place = std::move(value);
    const bool container = place->is_object() || place->kind() == Json::Kind::kArray;
    if (started_ && container) open_.push_back(place);
    started_ = true;
    return true;
  }
  bool end() {
    if (open_.size() > 1) open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;
  bool started_ = false;
};

void append_string(const std::string& text, std::string* out) {
  out->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out->append(escape);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

void append(const Json& value, std::string* out) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      out->append("null");
      break;
    case Json::Kind::kBool:
    case Json::Kind::kNumber:
      out->append(value.text());
      break;
    case Json::Kind::kString:
      append_string(value.text(), out);
      break;
    case Json::Kind::kArray:
      out->push_back('[');
      for (const Json& element : value.elements()) {
        if (out->back() != '[') out->push_back(',');
        append(element, out);
      }
      out->push_back(']');
      break;
    case Json::Kind::kObject:
      out->push_back('{');
      for (const auto& [name, member] : value.members()) {
        if (out->back() != '{') out->push_back(',');
        append_string(name, out);
        out->push_back(':');
        append(member, out);
      }
      out->push_back('}');
      break;
  }
}

}  // namespace

Json Json::boolean(bool value) {
  Json json(value ? "true" : "false");
  json.kind_ = Kind::kBool;
  return json;
}

Json Json::number(std::string digits) {
  Json json(std::move(digits));
  json.kind_ = Kind::kNumber;
  return json;
}

Json Json::object(std::vector<Member> members) {
  Json json;
  json.kind_ = Kind::kObject;
  json.members_ = std::move(members);
  return json;
}

Json Json::array(std::vector<Json> elements) {
  Json json;
  json.kind_ = Kind::kArray;
  json.elements_ = std::move(elements);
  return json;
}

Json Json::parse(std::string_view text) {
  const std::string copy(text);
  rapidjson::StringStream stream(copy.c_str());
  rapidjson::Reader reader;
  Json root;
  Builder builder(&root);
  if (reader.Parse<rapidjson::kParseNumbersAsStringsFlag>(stream, builder).IsError())
    throw std::runtime_error("not JSON: " + copy);
  return root;
}

std::string Json::dump() const {
  std::string out;
  append(*this, &out);
  return out;
}

const Json* Json::find(std::string_view name) const {
  for (const auto& [key, value] : members_)
    if (key == name) return &value;
  return nullptr;
}

Json* Json::find(std::string_view name) {
  return const_cast<Json*>(std::as_const(*this).find(name));
}

const Json& Json::at(std::string_view name) const {
  if (const Json* found = find(name)) return *found;
  throw std::runtime_error("no " + std::string(name) + " in " + dump());
}

Json& Json::operator[](std::string_view name) {
  if (kind_ == Kind::kNull) kind_ = Kind::kObject;
  if (Json* found = find(name)) return *found;
  return members_.emplace_back(std::string(name), Json()).second;
}

void Json::erase(std::string_view name) {
  std::erase_if(members_, [&](const Member& member) { return member.first == name; });
}

bool operator==(const Json& a, const Json& b) {
  if (a.kind_ != b.kind_ || a.text_ != b.text_ || a.elements_ != b.elements_ ||
      a.members_.size() != b.members_.size())
    return false;
  return std::all_of(a.members_.begin(), a.members_.end(), [&](const Json::Member& member) {
    const Json* other = b.find(member.first);
    return other != nullptr && *other == member.second;
  });
}

std::ostream& operator<<(std::ostream& out, const Json& value) { return out << value.dump(); }

}  // namespace writ::test
