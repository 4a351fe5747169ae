#include "service/http_head.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace writ {
namespace {

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[c] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = table[c - 'A' + 'a'] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}

// tchar of RFC 9110 section 5.6.2.
constexpr std::array<bool, 256> kTokenChar = make_token_table();

constexpr std::size_t kLongestMethod = 32;
constexpr std::size_t kLongestContentLength = 18;  // digits; always fits in 64 bits

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return kTokenChar[static_cast<unsigned char>(c)];
  });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Bytes of 0x80 and above pass: `Writ-Reason` is UTF-8, and whoever reads it checks that.
bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool is_target(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

bool is_host(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
           std::strchr("-._~:[]%", c) != nullptr;
  });
}

// Cuts the next line off `rest`, without its CR LF. The scanner has seen that every line has one.
std::string_view take_line(std::string_view* rest) {
  const std::size_t end = rest->find("\r\n");
  const std::string_view line = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 2);
  return line;
}

std::optional<HttpRefusal> parse_target(std::string_view target, RequestHead* out,
                                        std::string_view* authority) {
  if (!is_target(target)) return HttpRefusal{400, "malformed request target"};
  if (target == "*") {
    if (out->method != "OPTIONS") return HttpRefusal{400, "malformed request target"};
    out->path = target;
    return std::nullopt;
  }
  if (target.front() != '/') {
    // absolute-form, RFC 9112 section 3.2.2
    const std::size_t scheme = equals_ignore_case(target.substr(0, 7), "http://")    ? 7
                               : equals_ignore_case(target.substr(0, 8), "https://") ? 8
                                                                                     : 0;
    if (scheme == 0) return HttpRefusal{400, "malformed request target"};
    target.remove_prefix(scheme);
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    *authority = target.substr(0, end);
    target.remove_prefix(end);
    if (authority->empty() || target.empty() || target.front() != '/') {
      return HttpRefusal{400, "malformed request target"};
    }
  }
  const std::size_t mark = target.find('?');
  out->path = target.substr(0, mark);
  if (mark != std::string_view::npos) out->query = target.substr(mark + 1);
  return std::nullopt;
}

std::optional<HttpRefusal> parse_request_line(std::string_view line, RequestHead* out,
                                              std::string_view* authority) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return HttpRefusal{400, "malformed request line"};
  out->method = line.substr(0, first);
  if (!is_token(out->method) || out->method.size() > kLongestMethod) {
    return HttpRefusal{400, "malformed request method"};
  }
  const std::string_view version = line.substr(second + 1);
  if (version.size() != 8 || version.substr(0, 5) != "HTTP/" || version[6] != '.' ||
      !is_digits(version.substr(5, 1)) || !is_digits(version.substr(7))) {
    return HttpRefusal{400, "malformed HTTP version"};
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return HttpRefusal{505,
                       "only HTTP/1.1 is spoken here; gRPC needs HTTP/2, use Connect or gRPC-Web"};
  }
  out->http_1_0 = version == "HTTP/1.0";
  out->keep_alive = !out->http_1_0;
  return parse_target(line.substr(first + 1, second - first - 1), out, authority);
}

void read_connection_options(std::string_view list, RequestHead* out) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view option = trim_blanks(list.substr(0, comma));
    if (equals_ignore_case(option, "close")) out->keep_alive = false;
    if (equals_ignore_case(option, "keep-alive") && out->http_1_0) out->keep_alive = true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

std::optional<HttpRefusal> parse_field(std::string_view line, RequestHead* out) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return HttpRefusal{400, "malformed header field name"};
  }
  const HeaderField field{line.substr(0, colon), trim_blanks(line.substr(colon + 1))};
  if (!is_field_value(field.value)) {
    return HttpRefusal{400, "control character in a header field"};
  }
  out->fields.push_back(field);
  return std::nullopt;
}

// Fields that decide who asks, or how the body is read: a second one is an attack or a bug.
constexpr std::array<std::string_view, 12> kOnlyOnce = {
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "Content-Type",
    "Authorization",
    "Content-Encoding",
    "Origin",
    "Expect",
    "Writ-Reason",
    "Connect-Protocol-Version",
    "Connect-Timeout-Ms",
    "Idempotency-Key",
};

std::optional<HttpRefusal> check_repeated(const RequestHead& head) {
  std::array<bool, kOnlyOnce.size()> seen{};
  for (const HeaderField& field : head.fields) {
    for (std::size_t i = 0; i < kOnlyOnce.size(); ++i) {
      if (!equals_ignore_case(field.name, kOnlyOnce[i])) continue;
      if (seen[i]) return HttpRefusal{400, "a header field that may occur once occurs twice"};
      seen[i] = true;
    }
  }
  return std::nullopt;
}

std::optional<HttpRefusal> read_framing(RequestHead* head) {
  const auto length = head->find("Content-Length");
  const auto coding = head->find("Transfer-Encoding");
  if (length && coding) {
    return HttpRefusal{400, "both Content-Length and Transfer-Encoding"};
  }
  if (coding) {
    if (head->http_1_0) return HttpRefusal{400, "Transfer-Encoding in an HTTP/1.0 request"};
    if (!equals_ignore_case(*coding, "chunked")) {
      return HttpRefusal{501, "the only transfer coding understood is chunked"};
    }
    head->chunked = true;
  }
  if (length) {
    if (!is_digits(*length) || length->size() > kLongestContentLength) {
      return HttpRefusal{400, "malformed Content-Length"};
    }
    std::uint64_t value = 0;
    for (const char c : *length) value = value * 10 + static_cast<std::uint64_t>(c - '0');
    head->content_length = value;
  }
  return std::nullopt;
}

std::optional<HttpRefusal> read_meaning(std::string_view authority, RequestHead* head) {
  if (auto refusal = check_repeated(*head)) return refusal;
  const auto host = head->find("Host");
  if (!host && !head->http_1_0) return HttpRefusal{400, "Host is missing"};
  head->host = host.value_or("");
  if (!is_host(head->host)) return HttpRefusal{400, "malformed Host"};
  if (!authority.empty() && host && !equals_ignore_case(authority, *host)) {
    return HttpRefusal{400, "the request target and Host disagree"};
  }
  for (const HeaderField& field : head->fields) {
    if (equals_ignore_case(field.name, "Connection")) read_connection_options(field.value, head);
  }
  if (const auto expect = head->find("Expect")) {
    if (!equals_ignore_case(*expect, "100-continue")) {
      return HttpRefusal{417, "the only expectation understood is 100-continue"};
    }
    head->expect_continue = !head->http_1_0;
  }
  return read_framing(head);
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

}  // namespace

std::optional<std::string_view> RequestHead::find(std::string_view name) const {
  for (const HeaderField& field : fields) {
    if (equals_ignore_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::string_view RequestHead::field(std::string_view name) const {
  return find(name).value_or(std::string_view());
}

HeadScanner::Result HeadScanner::scan(std::string_view buffer) {
  if (scanned_ == 0 && !buffer.empty() && !kTokenChar[static_cast<unsigned char>(buffer[0])]) {
    return {0, HttpRefusal{400, "this is not an HTTP/1.1 request"}};
  }
  while (true) {
    const std::size_t newline = buffer.find('\n', scanned_);
    const bool first_line = line_start_ == 0;
    const std::size_t end = std::min(newline, buffer.size());
    if (first_line && end > limits_->request_line_bytes + 1) {  // one for the CR
      return {0, HttpRefusal{414, "the request line is too long"}};
    }
    if (end >= limits_->head_bytes) return {0, HttpRefusal{431, "the request head is too large"}};
    if (newline == std::string_view::npos) {
      scanned_ = buffer.size();
      return {};
    }
    if (newline == line_start_ || buffer[newline - 1] != '\r') {
      return {0, HttpRefusal{400, "a line of the request head does not end in CR LF"}};
    }
    scanned_ = newline + 1;
    if (newline == line_start_ + 1) return {scanned_, std::nullopt};
    line_start_ = scanned_;
  }
}

std::optional<HttpRefusal> parse_request_head(std::string_view bytes, const HttpLimits& limits,
                                              RequestHead* out) {
  std::vector<HeaderField> fields = std::move(out->fields);
  fields.clear();
  *out = RequestHead{};
  out->fields = std::move(fields);

  std::string_view rest = bytes;
  std::string_view authority;
  if (auto refusal = parse_request_line(take_line(&rest), out, &authority)) return refusal;
  while (true) {
    if (rest.empty()) return HttpRefusal{400, "the request head has no end"};
    const std::string_view line = take_line(&rest);
    if (line.empty()) break;
    if (out->fields.size() == limits.fields) return HttpRefusal{431, "too many header fields"};
    if (auto refusal = parse_field(line, out)) return refusal;
  }
  return read_meaning(authority, out);
}

std::optional<std::vector<std::string>> decode_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return std::nullopt;
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    auto segment = percent_decode(path.substr(0, end), false);
    if (!segment || !is_field_value(*segment) || segment->find('\t') != std::string::npos) {
      return std::nullopt;
    }
    segments.push_back(std::move(*segment));
    path.remove_prefix(end);
  }
  return segments;
}

std::optional<std::string> decode_query_part(std::string_view text) {
  return percent_decode(text, true);
}

bool equals_ignore_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim_blanks(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace writ
