#include "service/grpc_web.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <charconv>

#include "schema/base64.h"
#include "service/connect_call.h"

namespace writ {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostTimeoutDigits = 8;

// The numbers of google.rpc.Code.
int status_number(Code code) { return static_cast<int>(code) + 1; }

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      out.push_back(c);
    } else {
      out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return out;
}

// google.rpc.Status: code = 1, message = 2, details = 3.
std::string status_message(const ConnectError& error) {
  using google::protobuf::internal::WireFormatLite;
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    WireFormatLite::WriteInt32(1, status_number(error.code()), &coded);
    WireFormatLite::WriteString(2, error.what(), &coded);
    for (const auto& detail : error.details()) {
      google::protobuf::Any any;
      any.set_type_url("type.googleapis.com/" + detail->GetTypeName());
      any.set_value(encode_message(Codec::kProto, *detail));
      WireFormatLite::WriteBytes(3, any.SerializeAsString(), &coded);
    }
  }
  return out;
}

void append_field(std::string_view name, std::string_view value, std::string* out) {
  for (const char c : name)
    out->push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  out->append(": ");
  for (const char c : value) out->push_back(c == '\r' || c == '\n' ? ' ' : c);
  out->append("\r\n");
}

}  // namespace

std::optional<std::string> decode_grpc_web_text(std::string_view text) {
  if (text.size() % 4 != 0) return decode_base64(text);
  std::string out;
  while (!text.empty()) {
    // A piece ends with its padding.
    std::size_t end = std::min(text.find('='), text.size());
    end = std::min((end + 3) / 4 * 4, text.size());
    const auto piece = decode_base64(text.substr(0, end));
    if (!piece || end == 0) return std::nullopt;
    out.append(*piece);
    text.remove_prefix(end);
  }
  return out;
}

std::optional<milliseconds> parse_grpc_timeout(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [unit, error] = std::from_chars(text->data(), end, value);
  const auto digits = static_cast<std::size_t>(unit - text->data());
  if (error == std::errc() && value >= 0 && digits <= kMostTimeoutDigits && end - unit == 1) {
    using namespace std::chrono;
    switch (*unit) {
      case 'H':
        return hours(value);
      case 'M':
        return minutes(value);
      case 'S':
        return seconds(value);
      case 'm':
        return milliseconds(value);
      case 'u':
        return duration_cast<milliseconds>(microseconds(value));
      case 'n':
        return duration_cast<milliseconds>(nanoseconds(value));
      default:
        break;
    }
  }
  throw ConnectError(Code::kInvalidArgument,
                     "invalid Grpc-Timeout: must be at most 8 digits and a unit");
}

std::string grpc_web_trailers(const std::optional<ConnectError>& error, const Metadata& trailers) {
  std::string out;
  append_field("grpc-status", std::to_string(error ? status_number(error->code()) : 0), &out);
  if (error) {
    append_field("grpc-message", percent_encoded(error->what()), &out);
    if (!error->details().empty()) {
      append_field("grpc-status-details-bin",
                   without_padding(encode_base64(status_message(*error))), &out);
    }
  }
  for (const auto& [name, value] : trailers) append_field(name, value, &out);
  return out;
}

}  // namespace writ
