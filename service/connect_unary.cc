#include <google/protobuf/arena.h>

#include <algorithm>
#include <array>
#include <optional>

#include "schema/base64.h"
#include "service/connect_call.h"
#include "service/gzip.h"

namespace writ {
namespace {

constexpr std::size_t kArenaBlock = 4096;
constexpr std::size_t kNextBlock = 8192;
constexpr std::size_t kLargestNextBlock = 32768;  // malloc tidies up after larger ones

// A request message as it came, from a body or from a query.
struct UnaryInput {
  Codec codec = Codec::kProto;
  std::string_view bytes;
  std::string_view encoding;
};

void set_notes(const AnswerNotes& notes, HttpResponse& response) {
  for (const auto& [name, value] : notes.headers) response.set_header(name, value);
  for (const auto& [name, value] : notes.trailers) response.set_header("Trailer-" + name, value);
  std::string warning = warning_header(notes);
  if (!warning.empty()) response.set_header("Warning", std::move(warning));
  response.record.key = notes.log_key;
}

void set_message(Codec codec, const google::protobuf::Message& message, bool compress,
                 HttpResponse& response) {
  response.status = 200;
  response.content_type = codec == Codec::kJson ? "application/json" : "application/proto";
  response.body = encode_message(codec, message);
  if (compress && worth_compressing(response.body.size())) {
    response.body = gzip(response.body);
    response.set_header("Content-Encoding", "gzip");
  }
}

void call_unary(const RpcMethod& method, const RouterOptions& options, const UnaryInput& input,
                const HttpRequest& request, AnswerNotes* notes, HttpResponse& response) {
  check_connect_version(request.head);
  const auto timeout = parse_connect_timeout(request.head.find("Connect-Timeout-Ms"));
  const RequestContext context = make_context(request, method, options, timeout, notes);
  response.record.actor = context.caller.name;
  check_body_is_here(request, options.max_message_bytes, notes);
  MessageBytes bytes(input.bytes, is_gzip(input.encoding), context, options);
  // A request is many small messages: together on an arena, whose first block serves most of them.
  std::array<char, kArenaBlock> block;
  google::protobuf::ArenaOptions arena_options;
  arena_options.initial_block = block.data();
  arena_options.initial_block_size = block.size();
  // Of a large one the second block holds most of the rest.
  arena_options.start_block_size =
      std::clamp(8 * bytes.get().size(), kNextBlock, kLargestNextBlock);
  arena_options.max_block_size = kLargestNextBlock;
  google::protobuf::Arena arena(arena_options);
  google::protobuf::Message* const message = method.request->New(&arena);
  decode_message(input.codec, bytes.get(), message, notes);
  bytes.parsed(arena.SpaceAllocated());
  context.check_deadline();
  const bool compress = accepts_gzip(request.head.field("Accept-Encoding"));
  method.unary(context, *message, [&](const google::protobuf::Message& answer) {
    // A late read is no use to a caller that has given up; a write happened, and saying so is true.
    if (method.no_side_effects) context.check_deadline();
    set_message(input.codec, answer, compress, response);
  });
  response.record.code = "ok";
}

// The parameters of a GET (the Connect protocol's "Unary-Get-Request"), decoded.
struct GetQuery {
  std::optional<std::string> message;
  std::optional<std::string> encoding;
  std::optional<std::string> compression;
  std::optional<std::string> connect;
  std::optional<std::string> base64;

  // Null for names that mean nothing here.
  std::optional<std::string>* find(std::string_view name) {
    if (name == "message") return &message;
    if (name == "encoding") return &encoding;
    if (name == "compression") return &compression;
    if (name == "connect") return &connect;
    if (name == "base64") return &base64;
    return nullptr;
  }
};

ConnectError bad_query(const std::string& rule) {
  return {Code::kInvalidArgument, "invalid query: " + rule};
}

GetQuery parse_query(std::string_view query) {
  GetQuery out;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = decode_query_part(pair.substr(0, equals));
    auto value = decode_query_part(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value)
      throw bad_query("a percent sign must be followed by two hexadecimal digits");
    std::optional<std::string>* const parameter = out.find(*name);
    if (parameter == nullptr) continue;
    // Two readers could take different ones.
    if (*parameter) throw bad_query(*name + " is given twice");
    *parameter = std::move(*value);
  }
  return out;
}

// Checks the query and leaves the message's bytes in `query->message`.
UnaryInput read_query(GetQuery* query) {
  if (!query->connect.value_or("").empty() && query->connect != "v1") {
    throw bad_query("connect must be v1");
  }
  if (query->encoding != "proto" && query->encoding != "json") {
    throw bad_query("encoding must be proto or json");
  }
  if (!query->message) throw bad_query("message is missing");
  if (query->base64 == "1") {
    auto bytes = decode_base64(*query->message);
    if (!bytes) throw bad_query("message must be base64");
    query->message = std::move(*bytes);
  } else if (!query->base64.value_or("").empty() && query->base64 != "0") {
    throw bad_query("base64 must be 1");
  }
  const Codec codec = query->encoding == "json" ? Codec::kJson : Codec::kProto;
  return {codec, *query->message,
          query->compression ? std::string_view(*query->compression) : std::string_view()};
}

template <class Call>
void answer(const RouterOptions& options, const HttpRequest& request, HttpResponse& response,
            const Call& call) {
  AnswerNotes notes;
  try {
    call(&notes);
  } catch (...) {
    answer_error(to_connect_error(std::current_exception(), request.request_id, options), response);
  }
  set_notes(notes, response);
}

}  // namespace

void answer_unary_post(const RpcMethod& method, const RouterOptions& options, const Wire& wire,
                       const HttpRequest& request, HttpResponse& response) {
  answer(options, request, response, [&](AnswerNotes* notes) {
    const UnaryInput input{wire.codec, request.body, request.head.field("Content-Encoding")};
    call_unary(method, options, input, request, notes, response);
  });
}

void answer_unary_get(const RpcMethod& method, const RouterOptions& options,
                      const HttpRequest& request, HttpResponse& response) {
  answer(options, request, response, [&](AnswerNotes* notes) {
    GetQuery query = parse_query(request.head.query);
    const UnaryInput input = read_query(&query);
    call_unary(method, options, input, request, notes, response);
  });
  // An answer is true for one moment; a cache must ask again.
  response.set_header("Cache-Control", "no-cache");
  response.set_header("Vary", "Accept-Encoding");
}

}  // namespace writ
