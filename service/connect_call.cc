#include "service/connect_call.h"

#include <malloc.h>

#include <algorithm>
#include <charconv>

#include "schema/protojson.h"
#include "schema/stable_bytes.h"
#include "service/gzip.h"
#include "service/json_text.h"

namespace writ {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLeastCompressed = 1024;
// Messages up to this size are not counted.
constexpr std::size_t kSmallMessage = 4 * 1024;
// A message of many small parts takes up to this many times its own size when it is parsed: in JSON
// a map entry is some ten bytes, in memory two strings, their nodes and the parser's notes.
constexpr std::size_t kParsedSize = 32;
constexpr std::size_t kMostTimeoutDigits = 10;
constexpr std::size_t kLongestReason = 4096;
constexpr std::size_t kLongestIdempotencyKey = 128;
constexpr std::size_t kLongestWarning = 1024;
// What takes this much leaves nothing behind when it is done.
constexpr std::size_t kTrimmed = 8 * 1024 * 1024;

ConnectError invalid(const std::string& message) { return {Code::kInvalidArgument, message}; }

ConnectError short_of_memory(AnswerNotes* notes) {
  notes->headers.emplace_back("Retry-After", "1");
  return {Code::kResourceExhausted,
          "the server has no memory left for a request of this size; try again soon"};
}

bool is_too_large(const std::variant<std::string, GzipError>& result) {
  const GzipError* const error = std::get_if<GzipError>(&result);
  return error != nullptr && *error == GzipError::kTooLarge;
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string read_reason(const RequestHead& head) {
  const std::string_view reason = head.field("Writ-Reason");
  if (reason.size() > kLongestReason || !is_utf8(reason)) {
    throw invalid("invalid Writ-Reason: must be at most 4096 bytes of UTF-8");
  }
  return std::string(reason);
}

std::string read_idempotency_key(const RequestHead& head) {
  const auto key = head.find("Idempotency-Key");
  if (!key) return "";
  const bool good =
      !key->empty() && key->size() <= kLongestIdempotencyKey &&
      std::all_of(key->begin(), key->end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!good) throw invalid("invalid Idempotency-Key: must be 1 to 128 printable ASCII characters");
  return std::string(*key);
}

void add_warning(const std::string& field, AnswerNotes* notes) {
  if (!notes->warnings.empty()) notes->warnings.append(", ");
  notes->warnings.append(field);
}

void decode_json(std::string_view bytes, google::protobuf::Message* message, AnswerNotes* notes) {
  const JsonRead read = read_json(bytes, message, JsonMode::kRequest);
  if (read.error) throw invalid(read.error->message());
  for (const std::string& field : read.unknown_fields) add_warning(field, notes);
}

}  // namespace

void RequestContext::check_deadline() const {
  if (std::chrono::steady_clock::now() >= deadline) {
    throw ConnectError(Code::kDeadlineExceeded, "the deadline has passed");
  }
}

void RequestContext::warn_ignored(const std::string& field) const {
  if (notes != nullptr) add_warning(field, notes);
}

void RequestContext::set_log_key(std::string key) const {
  if (notes != nullptr) notes->log_key = std::move(key);
}

MediaType parse_media_type(std::string_view text) {
  const std::size_t end = std::min(text.find(';'), text.size());
  const auto lowered = [](std::string_view part) {
    std::string out(trim_blanks(part));
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
  };
  return {lowered(text.substr(0, end)), lowered(text.substr(std::min(end + 1, text.size())))};
}

std::optional<Wire> parse_wire(std::string_view content_type) {
  const MediaType media = parse_media_type(content_type);
  constexpr std::string_view kPrefix = "application/";
  if (!media.type.starts_with(kPrefix)) return std::nullopt;
  std::string_view name = std::string_view(media.type).substr(kPrefix.size());

  Wire wire;
  wire.content_type = media.type;
  const bool utf8 = media.parameters == "charset=utf-8" || media.parameters == "charset=\"utf-8\"";
  if (!media.parameters.empty() && !(name == "json" && utf8)) return std::nullopt;
  const std::size_t plus = name.find('+');
  const std::string_view codec = plus == name.npos ? "" : name.substr(plus + 1);
  const std::string_view base = name.substr(0, plus);
  if (codec == "json" || name == "json") {
    wire.codec = Codec::kJson;
  } else if (!codec.empty() && codec != "proto") {
    return std::nullopt;
  }
  if (name == "json" || name == "proto") return wire;
  if (base == "connect") {
    wire.protocol = Protocol::kConnectStream;
    return codec.empty() ? std::nullopt : std::optional(wire);
  }
  wire.protocol = base == "grpc" ? Protocol::kGrpc : Protocol::kGrpcWeb;
  wire.text = base == "grpc-web-text";
  return base == "grpc" || base == "grpc-web" || wire.text ? std::optional(wire) : std::nullopt;
}

void decode_message(Codec codec, std::string_view bytes, google::protobuf::Message* message,
                    AnswerNotes* notes) {
  if (codec == Codec::kJson) {
    if (bytes.empty()) throw invalid("the body is empty; it must be a JSON object");
    decode_json(bytes, message, notes);
  } else if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw invalid("the body is not a " + message->GetTypeName() + " message");
  }
}

std::string encode_message(Codec codec, const google::protobuf::Message& message) {
  if (codec == Codec::kJson) return write_json(message);
  return stable_bytes(message);
}

const std::string& SharedMessage::as_proto() const {
  std::call_once(proto_once_, [&] { proto_ = encode_message(Codec::kProto, *message_); });
  return proto_;
}

const std::string& SharedMessage::as_json() const {
  std::call_once(json_once_, [&] { json_ = encode_message(Codec::kJson, *message_); });
  return json_;
}

bool is_gzip(std::string_view encoding) {
  if (encoding.empty() || equals_ignore_case(encoding, "identity")) return false;
  if (equals_ignore_case(encoding, "gzip")) return true;
  throw ConnectError(Code::kUnimplemented, "unknown compression \"" + std::string(encoding) +
                                               "\": supported encodings are gzip, identity");
}

MessageBytes::MessageBytes(std::string_view bytes, bool gzip, const RequestContext& context,
                           const RouterOptions& options)
    : bytes_(bytes) {
  const std::size_t limit = options.max_message_bytes;
  if (!gzip || bytes.empty()) {
    if (bytes.size() > limit) throw too_large(limit);
    take_memory(bytes.size(), context, options);
    return;
  }
  // How large it becomes is not known before; most are small.
  auto result = gunzip(bytes, std::min(limit, kSmallMessage));
  if (is_too_large(result) && limit > kSmallMessage) {
    take_memory(limit, context, options);
    result = gunzip(bytes, limit);
  }
  if (is_too_large(result)) throw too_large(limit);
  if (std::holds_alternative<GzipError>(result)) throw invalid("the body is not valid gzip");
  inflated_ = std::get<std::string>(std::move(result));
  bytes_ = inflated_;
  memory_.shrink(bytes_.size() * kParsedSize);
}

void MessageBytes::take_memory(std::size_t size, const RequestContext& context,
                               const RouterOptions& options) {
  MemoryBudget* const budget = context.http->memory;
  if (budget == nullptr || size <= kSmallMessage) return;
  const auto patience = context.http->received + options.request_time;
  auto share = budget->wait_for(size * kParsedSize, std::min(context.deadline, patience));
  if (!share) throw short_of_memory(context.notes);
  memory_ = std::move(*share);
  trim_ = memory_.bytes() >= kTrimmed;
}

MessageBytes::~MessageBytes() {
  if (!trim_) return;
  inflated_ = {};
  // Freed, it still counts as ours: small pieces all over the heaps of many threads.
  malloc_trim(0);
}

void MessageBytes::parsed(std::size_t memory) {
  // Twice, for what a handler makes of it: a map is built when it is first looked into.
  memory_.shrink(2 * (memory + bytes_.size()));
}

void check_body_is_here(const HttpRequest& request, std::size_t limit, AnswerNotes* notes) {
  switch (request.missing) {
    case HttpRequest::Missing::kNothing:
      return;
    case HttpRequest::Missing::kTooLarge:
      throw too_large(limit);
    case HttpRequest::Missing::kNoMemory:
      throw short_of_memory(notes);
  }
}

bool accepts_gzip(std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const MediaType coding = parse_media_type(list.substr(0, comma));
    if (coding.type == "gzip") {
      return coding.parameters.empty() ||
             coding.parameters.find_first_of("123456789") != std::string::npos;
    }
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

bool worth_compressing(std::size_t size) { return size > kLeastCompressed; }

std::optional<milliseconds> parse_connect_timeout(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  if (!is_digits(*text) || text->size() > kMostTimeoutDigits) {
    throw invalid("invalid Connect-Timeout-Ms: must be at most 10 digits");
  }
  std::int64_t value = 0;
  std::from_chars(text->data(), text->data() + text->size(), value);
  return milliseconds(value);
}

void check_connect_version(const RequestHead& head) {
  const auto version = head.find("Connect-Protocol-Version");
  if (version && *version != "1") {
    throw invalid("invalid Connect-Protocol-Version: must be 1");
  }
}

RequestContext make_context(const HttpRequest& request, const RpcMethod& method,
                            const RouterOptions& options, std::optional<milliseconds> timeout,
                            AnswerNotes* notes) {
  RequestContext context;
  context.request_id = request.request_id;
  context.method = method.descriptor;
  context.http = &request;
  context.notes = notes;
  if (method.unary) {
    context.deadline =
        request.received + std::min(timeout.value_or(options.request_time), options.request_time);
  } else {
    context.deadline =
        timeout ? request.received + *timeout : RequestContext::Clock::time_point::max();
  }
  context.caller = options.identify(request);
  context.reason_required = options.require_reason;
  context.reason = read_reason(request.head);
  context.idempotency_key = read_idempotency_key(request.head);
  return context;
}

std::string warning_header(const AnswerNotes& notes) {
  if (notes.warnings.empty()) return "";
  std::string out = "299 writ \"unknown fields ignored: ";
  for (const char c : std::string_view(notes.warnings).substr(0, kLongestWarning)) {
    // Client text: kept to what a quoted string may hold.
    const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    out.push_back(plain ? c : '?');
  }
  return out.append("\"");
}

}  // namespace writ
