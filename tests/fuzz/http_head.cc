#include "service/http_head.h"

#include <algorithm>

#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace writ::fuzz {
namespace {

struct Scanned {
  std::size_t size = 0;
  int status = 0;

  bool operator==(const Scanned&) const = default;
};

Scanned scan(std::string_view bytes, std::size_t step, const HttpLimits& limits) {
  HeadScanner scanner(limits);
  std::size_t given = 0;
  while (true) {
    given = std::min(given + step, bytes.size());
    const auto result = scanner.scan(bytes.substr(0, given));
    require(result.size == 0 || !result.refusal, "a head has a size or a refusal");
    require(result.size <= given, "a head ends where its bytes do");
    if (result.refusal || result.size > 0 || given == bytes.size()) {
      return {result.size, result.refusal ? result.refusal->status : 0};
    }
  }
}

bool is_graphic(char c) { return c > 0x20 && c < 0x7f; }

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_graphic) &&
         text.find_first_of("()<>@,;:\\\"/[]?={}") == std::string_view::npos;
}

std::size_t count_of(const RequestHead& head, std::string_view name) {
  return static_cast<std::size_t>(std::count_if(
      head.fields.begin(), head.fields.end(),
      [&](const HeaderField& field) { return equals_ignore_case(field.name, name); }));
}

void check_target(const RequestHead& head) {
  require(is_token(head.method), "the method is a token");
  require(head.path.starts_with('/') || (head.path == "*" && head.method == "OPTIONS"),
          "the path starts with a slash");
  for (const std::string_view part : {head.path, head.query}) {
    require(std::all_of(part.begin(), part.end(), is_graphic), "the target is graphic ASCII");
    require(part.find('#') == std::string_view::npos, "the target has no fragment");
  }
  require(head.path.find('?') == std::string_view::npos, "the path has no query");
}

void check_fields(const RequestHead& head) {
  for (const HeaderField& field : head.fields) {
    require(is_token(field.name), "a field name is a token");
    require(trim_blanks(field.value) == field.value, "a field value has no blanks around it");
    require(std::none_of(field.value.begin(), field.value.end(),
                         [](char c) {
                           return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
                         }),
            "a field value has no control characters");
  }
  for (const std::string_view name : {"Content-Length", "Transfer-Encoding", "Content-Type",
                                      "Authorization", "Writ-Reason", "Idempotency-Key"}) {
    require(count_of(head, name) <= 1, "a field that may occur once occurs once");
  }
  const std::size_t hosts = count_of(head, "Host");
  require(hosts == 1 || (hosts == 0 && head.http_1_0), "there is one Host");
  require(head.host == head.field("Host"), "the host is that of Host");
}

void check_framing(const RequestHead& head) {
  const auto length = head.find("Content-Length");
  require(length.has_value() == head.content_length.has_value(), "Content-Length is known");
  require(head.find("Transfer-Encoding").has_value() == head.chunked,
          "a transfer coding is chunked");
  require(!(head.chunked && length), "there is one framing");
  require(!(head.http_1_0 && (head.chunked || head.expect_continue)),
          "HTTP/1.0 has no chunks and no 100");
  if (!length) return;
  std::string_view digits = *length;
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  require(std::to_string(*head.content_length) == digits, "Content-Length is its digits");
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
  }
  return out;
}

void check_decoding(const RequestHead& head) {
  if (const auto segments = decode_path(head.path)) {
    std::string path;
    for (const std::string& segment : *segments) path += "/" + percent_encoded(segment);
    require(decode_path(path) == segments, "a decoded path can be encoded");
  }
  if (const auto query = decode_query_part(head.query)) {
    require(decode_query_part(percent_encoded(*query)) == query, "a decoded query can be encoded");
  }
}

/// What was understood, written anew, is understood the same.
void check_rewritten(const RequestHead& head) {
  std::string text = std::string(head.method) + " " + std::string(head.path);
  if (!head.query.empty()) text.append("?").append(head.query);
  text += head.http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";
  for (const HeaderField& field : head.fields) {
    text.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  text += "\r\n";
  HttpLimits ample;
  ample.request_line_bytes = ample.head_bytes = 2 * text.size();
  require(scan(text, text.size(), ample) == Scanned{text.size(), 0}, "a rewritten head is whole");
  RequestHead again;
  require(!parse_request_head(text, ample, &again), "a rewritten head is good");
  require(again.method == head.method && again.path == head.path && again.query == head.query &&
              again.host == head.host && again.keep_alive == head.keep_alive &&
              again.chunked == head.chunked && again.content_length == head.content_length &&
              again.expect_continue == head.expect_continue,
          "a rewritten head means the same");
  require(
      std::equal(again.fields.begin(), again.fields.end(), head.fields.begin(), head.fields.end(),
                 [](const HeaderField& a, const HeaderField& b) {
                   return a.name == b.name && a.value == b.value;
                 }),
      "a rewritten head has the same fields");
}

void check(std::string_view input, const HttpLimits& limits) {
  const Scanned whole = scan(input, input.size() + 1, limits);
  require(scan(input, 1, limits) == whole, "a head is the same byte by byte");
  require(scan(input, 7, limits) == whole, "a head is the same in pieces");
  if (whole.size == 0) return;
  const std::string_view bytes = input.substr(0, whole.size);
  require(bytes.size() <= limits.head_bytes, "a head is within its limit");
  require(bytes.find("\r\n") <= limits.request_line_bytes, "a request line is within its limit");
  RequestHead head;
  if (const auto refusal = parse_request_head(bytes, limits, &head)) {
    require(refusal->status >= 400 && refusal->status < 600, "a refusal has a status");
    require(!refusal->message.empty(), "a refusal has a message");
    return;
  }
  require(head.fields.size() <= limits.fields, "fields are within their limit");
  check_target(head);
  check_fields(head);
  check_framing(head);
  check_decoding(head);
  check_rewritten(head);
}

}  // namespace

void http_head(std::string_view input) {
  check(input, HttpLimits());
  // Limits that a short input reaches.
  HttpLimits tight;
  tight.request_line_bytes = 40;
  tight.head_bytes = 100;
  tight.fields = 4;
  check(input, tight);
}

}  // namespace writ::fuzz
