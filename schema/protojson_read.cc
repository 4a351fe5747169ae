#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "schema/protojson.h"
#include "schema/protojson_reader.h"

namespace writ {
namespace protojson {
namespace {

constexpr std::size_t kMaxDepth = 100;
/// A parser that a thread keeps holds buffers for texts up to this size.
constexpr std::size_t kMaxKeptText = 64 * 1024;

/// Why a text is no JSON, for people.
std::string describe_syntax(simdjson::error_code error) {
  switch (error) {
    case simdjson::EMPTY:
      return "the text is empty";
    case simdjson::UTF8_ERROR:
      return "the text is not valid UTF-8";
    case simdjson::DEPTH_ERROR:
      return "the text nests more than 100 deep";
    case simdjson::NUMBER_ERROR:
      return "a number is malformed or out of range";
    case simdjson::STRING_ERROR:
    case simdjson::UNESCAPED_CHARS:
      return "a string is malformed";
    case simdjson::UNCLOSED_STRING:
      return "a string has no end";
    case simdjson::CAPACITY:
      return "the text is too long";
    case simdjson::MEMALLOC:
      return "the text needs too much memory";
    default:
      return "the text is malformed";
  }
}

/// A parser and the padded copy of a text that it needs.
class PaddedParser {
 public:
  simdjson::simdjson_result<dom::element> parse(std::string_view json) {
    if (parser_.capacity() < json.size() || parser_.max_depth() != kMaxDepth) {
      // More than was asked for, so that texts of similar length do not allocate again.
      const std::size_t capacity = std::max<std::size_t>(json.size(), 4096);
      if (const auto error = parser_.allocate(capacity, kMaxDepth)) return error;
      buffer_.reset(new char[capacity + simdjson::SIMDJSON_PADDING]());
    }
    std::memcpy(buffer_.get(), json.data(), json.size());
    std::memset(buffer_.get() + json.size(), ' ', simdjson::SIMDJSON_PADDING);
    return parser_.parse(buffer_.get(), json.size(), false);
  }

 private:
  dom::parser parser_;
  std::unique_ptr<char[]> buffer_;
};

bool read_with(PaddedParser* parser, std::string_view json, pb::Message* out, JsonMode mode,
               JsonRead* result) {
  dom::element root;
  if (const auto error = parser->parse(json).get(root)) {
    result->error = JsonError{"", describe_syntax(error)};
    return false;
  }
  const TypeHandle type(*out->GetDescriptor());
  return Reader(mode, result).read_message(root, *type, out, Path());
}

}  // namespace
}  // namespace protojson

std::string JsonError::message() const {
  return path.empty() ? "invalid JSON: " + rule : "invalid " + path + ": " + rule;
}

JsonRead read_json(std::string_view json, google::protobuf::Message* out, JsonMode mode) {
  JsonRead result;
  out->Clear();
  if (json.empty()) {
    result.error = JsonError{"", protojson::describe_syntax(simdjson::EMPTY)};
  } else if (json.size() <= protojson::kMaxKeptText) {
    // Kept by the thread, since allocating costs more than parsing a small text.
    static thread_local protojson::PaddedParser parser;
    protojson::read_with(&parser, json, out, mode, &result);
  } else {
    protojson::PaddedParser parser;
    protojson::read_with(&parser, json, out, mode, &result);
  }
  return result;
}

}  // namespace writ
