#include "tools/client/yaml_text.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "schema/utf8.h"

namespace writ::client {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Whether it is a string in all versions of YAML without quotes.
bool is_plain(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                      "off",  "null",  "y",   "n"};
  if (text.empty() || !(is_letter(text.front()) || text.front() == '_' || text.front() == '/'))
    return false;
  if (!std::ranges::all_of(text, [](char c) {
        return is_letter(c) || (c >= '0' && c <= '9') ||
               std::string_view("_./-").find(c) != std::string_view::npos;
      }))
    return false;
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::ranges::find(kWords, lower) == kWords.end();
}

/// What stands as itself between double quotes, on one line, for every reader.
bool stands_alone(char32_t c) {
  return c != U'"' && c != U'\\' &&
         ((c >= 0x20 && c <= 0x7E) || (c >= 0xA0 && c <= 0xD7FF && c != 0x2028 && c != 0x2029) ||
          (c >= 0xE000 && c <= 0xFFFD && c != 0xFEFF) || c >= 0x10000);
}

std::string escaped(char32_t c) {
  if (c == U'"') return "\\\"";
  if (c == U'\\') return "\\\\";
  if (c == U'\n') return "\\n";
  if (c == U'\t') return "\\t";
  char text[16];
  std::snprintf(text, sizeof text, c < 0x10000 ? "\\u%04X" : "\\U%08X", static_cast<unsigned>(c));
  return text;
}

std::string scalar(const YAML::Node& node) {
  // What JSON has in quotes carries the tag "!".
  return node.IsNull() ? "null" : node.Tag() == "!" ? yaml_string(node.Scalar()) : node.Scalar();
}

void append_block(const YAML::Node& node, const std::string& indent, std::string* out);

/// A value behind `key:` or `-`, with the end of its line.
void append_value(const YAML::Node& node, const std::string& indent, std::string* out) {
  if (node.IsScalar() || node.IsNull())
    *out += " " + scalar(node) + "\n";
  else if (node.size() == 0)
    *out += node.IsMap() ? " {}\n" : " []\n";
  else {
    *out += "\n";
    append_block(node, indent, out);
  }
}

void append_block(const YAML::Node& node, const std::string& indent, std::string* out) {
  if (node.IsMap()) {
    for (const auto& member : node) {
      *out += indent + yaml_string(member.first.Scalar()) + ":";
      append_value(member.second, indent + "  ", out);
    }
  } else {
    for (const YAML::Node& element : node) {
      std::string block;
      append_value(element, indent + "  ", &block);
      // The first member of an object stands beside its dash.
      if (block.starts_with("\n")) block.erase(0, indent.size() + 2);
      *out += indent + "-" + block;
    }
  }
}

}  // namespace

std::string yaml_string(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out = "\"";
  while (!text.empty()) {
    const auto decoded = decode_utf8(text);
    const std::size_t size = decoded ? decoded->size : 1;
    const char32_t c = decoded ? decoded->code_point : 0xFFFD;
    if (stands_alone(c))
      out += text.substr(0, size);
    else
      out += escaped(c);
    text.remove_prefix(size);
  }
  return out + "\"";
}

std::string yaml_from_json(const std::string& json) {
  const YAML::Node node = YAML::Load(json);
  if (!node.IsMap() || node.size() == 0) return json + "\n";
  std::string out;
  append_block(node, "", &out);
  return out;
}

}  // namespace writ::client
