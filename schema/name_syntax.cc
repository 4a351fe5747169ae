#include "schema/name_syntax.h"

#include <algorithm>
#include <string>

namespace writ {
namespace {

constexpr std::size_t kMaxSegment = 63;
constexpr std::size_t kMaxSubdomain = 253;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_lower(c) || is_upper(c) || is_digit(c); }
bool is_punctuation(char c) { return c == '-' || c == '_' || c == '.'; }

/// RFC 1123, lower case: labels of letters, digits and inner hyphens, joined by dots.
bool is_dns_subdomain(std::string_view text) {
  if (text.empty() || text.size() > kMaxSubdomain) return false;
  char previous = '.';
  for (const char c : text) {
    const bool starts_or_ends_label = previous == '.' || c == '.';
    if (!is_lower(c) && !is_digit(c) && c != '-' && c != '.') return false;
    if (starts_or_ends_label && (c == '-' || previous == '-' || (c == '.' && previous == '.'))) {
      return false;
    }
    previous = c;
  }
  return previous != '-' && previous != '.';
}

/// An optional DNS prefix and a slash, then a segment.
bool is_qualified_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_qualified_segment(text);
  return is_dns_subdomain(text.substr(0, slash)) && is_qualified_segment(text.substr(slash + 1));
}

/// Kubernetes lowers annotation keys before it looks at them.
bool is_annotation_key(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return is_qualified_name(lowered);
}

bool is_environment_variable(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && !is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || is_punctuation(c); });
}

}  // namespace

bool is_qualified_segment(std::string_view text) {
  return !text.empty() && text.size() <= kMaxSegment && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alphanumeric(c) || is_punctuation(c);
         });
}

std::string_view broken_syntax(schema::v1::Syntax syntax, std::string_view text) {
  constexpr std::string_view kQualifiedName =
      "be 1 to 63 letters, digits, '-', '_' or '.', starting and ending with a letter or digit, "
      "after an optional DNS name and '/'";
  switch (syntax) {
    case schema::v1::SYNTAX_LABEL_KEY:
      return is_qualified_name(text) ? "" : kQualifiedName;
    case schema::v1::SYNTAX_ANNOTATION_KEY:
      return is_annotation_key(text) ? "" : kQualifiedName;
    case schema::v1::SYNTAX_LABEL_VALUE:
      return text.empty() || is_qualified_segment(text)
                 ? ""
                 : "be empty or at most 63 letters, digits, '-', '_' or '.', starting and ending "
                   "with a letter or digit";
    case schema::v1::SYNTAX_ENVIRONMENT_VARIABLE:
      return is_environment_variable(text)
                 ? ""
                 : "be letters, digits, '-', '_' or '.', not start with a digit, and not be '.' or "
                   "'..'";
    case schema::v1::SYNTAX_DNS_SUBDOMAIN:
      return is_dns_subdomain(text)
                 ? ""
                 : "be at most 253 lower-case letters, digits, '-' or '.', each part between dots "
                   "starting and ending with a letter or digit";
    default:
      return "";
  }
}

}  // namespace writ
