#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// Sizes that a request may not exceed.
struct HttpLimits {
  std::size_t request_line_bytes = 8 * 1024;
  std::size_t head_bytes = 32 * 1024;
  std::size_t fields = 100;
  std::size_t body_bytes = 4 * 1024 * 1024;
};

/// Why a request was refused before anybody looked at what it asks.
struct HttpRefusal {
  int status;                ///< The HTTP status to answer with.
  std::string_view message;  ///< For people; a literal.
};

struct HeaderField {
  std::string_view name;   ///< As sent.
  std::string_view value;  ///< Without the white space around it.
};

/// A request head that passed every check. The views point into the bytes it was parsed from.
struct RequestHead {
  std::string_view method;
  std::string_view path;   ///< Raw, starting with '/', or "*".
  std::string_view query;  ///< Raw, without the '?'; empty when absent.
  std::string_view host;   ///< `Host` as sent; empty only when HTTP/1.0 left it out.
  bool http_1_0 = false;
  bool keep_alive = true;
  bool chunked = false;
  bool expect_continue = false;
  std::optional<std::uint64_t> content_length;
  std::vector<HeaderField> fields;

  /// The value of the first field with this name, whatever its case; "" when absent.
  std::string_view field(std::string_view name) const;
  /// Like `field`, but tells an absent field from an empty one.
  std::optional<std::string_view> find(std::string_view name) const;
};

/// Finds the end of a head in bytes that arrive piece by piece, and refuses early what could never
/// become a good head, so that a hostile client is not waited for.
class HeadScanner {
 public:
  struct Result {
    std::size_t size = 0;  ///< Bytes of the whole head with its empty line; 0 when more are needed.
    std::optional<HttpRefusal> refusal;
  };

  explicit HeadScanner(const HttpLimits& limits) : limits_(&limits) {}

  /// `buffer` starts with the head and holds everything of the calls before.
  Result scan(std::string_view buffer);

 private:
  const HttpLimits* limits_;
  std::size_t line_start_ = 0;
  std::size_t scanned_ = 0;
};

/// Parses and checks a whole head (request line to empty line, as `HeadScanner` measured it) into
/// `out`, whose old content is dropped. Returns the refusal, or nothing when the head is good.
/// Stricter than RFC 9112 wherever two readers could disagree: lines end in CR LF, no white
/// space before a colon, no folded lines, no control characters, one Host, one Content-Length of
/// digits only, `chunked` as the only transfer coding and never with a Content-Length, one value of
/// every field that decides how the body is read or who asks.
std::optional<HttpRefusal> parse_request_head(std::string_view bytes, const HttpLimits& limits,
                                              RequestHead* out);

/// Percent-decodes each segment of a raw path once, so a `%2F` stays inside its segment: "/a/b%2Fc"
/// is
/// {"a", "b/c"}, "/" is {""}. Nothing when the path does not start with '/', when an escape is
/// broken, or when a decoded segment holds a control character.
std::optional<std::vector<std::string>> decode_path(std::string_view path);

/// Percent-decodes one part of a query; '+' is a space. Nothing when an escape is broken.
std::optional<std::string> decode_query_part(std::string_view text);

/// Equality of ASCII text whatever its case.
bool equals_ignore_case(std::string_view a, std::string_view b);

/// Without the spaces and tabs around it.
std::string_view trim_blanks(std::string_view text);

}  // namespace writ
