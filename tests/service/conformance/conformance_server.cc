// The server under test of the official Connect conformance runner:
//   connectconformance --conf config.yaml --mode server -- conformance_server
// It reads one size-delimited ServerCompatRequest, serves on a free port, says which one, and ends
// with its input or a signal.

#include <google/protobuf/message.h>

#include <csignal>
#include <cstdint>
#include <iostream>
#include <map>
#include <thread>

#include "conformance.pb.h"
#include "service/connect.h"
#include "service/http_server.h"

namespace writ::test {
namespace {

namespace wire = connectrpc::conformance::v1;
using google::protobuf::Message;
using RequestInfo = wire::ConformancePayload::RequestInfo;

template <class Headers>
Metadata to_metadata(const Headers& headers) {
  Metadata out;
  for (const wire::Header& header : headers) {
    for (const std::string& value : header.value()) out.emplace_back(header.name(), value);
  }
  return out;
}

void add_query(std::string_view query, RequestInfo* info) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    wire::Header* const header = info->mutable_connect_get_info()->add_query_params();
    header->set_name(decode_query_part(pair.substr(0, equals)).value_or(""));
    header->add_value(
        decode_query_part(pair.substr(std::min(equals + 1, pair.size()))).value_or(""));
  }
}

RequestInfo request_info(const RequestContext& context, const Message& request) {
  RequestInfo info;
  std::map<std::string, wire::Header*> by_name;
  for (const HeaderField& field : context.http->head.fields) {
    wire::Header*& header = by_name[std::string(field.name)];
    if (header == nullptr) header = info.add_request_headers();
    header->set_name(std::string(field.name));
    header->add_value(std::string(field.value));
  }
  for (const char* name : {"Connect-Timeout-Ms", "Grpc-Timeout"}) {
    const auto timeout = context.http->head.find(name);
    if (!timeout) continue;
    const auto left = context.deadline - context.http->received;
    info.set_timeout_ms(std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
  }
  info.add_requests()->PackFrom(request);
  add_query(context.http->head.query, &info);
  return info;
}

ConnectError to_error(const wire::Error& error, const RequestInfo* info) {
  ConnectError out(static_cast<Code>(error.code() - 1), error.message());
  for (const google::protobuf::Any& any : error.details()) {
    const std::string name = any.type_url().substr(any.type_url().rfind('/') + 1);
    const auto* const type =
        google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(name);
    if (type == nullptr) continue;
    std::shared_ptr<Message> detail(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
    detail->ParseFromString(any.value());
    out = std::move(out).with_detail(std::move(detail));
  }
  if (info != nullptr) out = std::move(out).with_detail(std::make_shared<RequestInfo>(*info));
  return out;
}

// Waits, but no longer than the caller does.
void wait(const RequestContext& context, std::uint32_t delay_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(delay_ms);
  std::this_thread::sleep_until(std::min(until, context.deadline));
  context.check_deadline();
}

template <class Request, class Response>
Response answer_unary(const RequestContext& context, const Request& request) {
  const wire::UnaryResponseDefinition& definition = request.response_definition();
  context.notes->headers = to_metadata(definition.response_headers());
  context.notes->trailers = to_metadata(definition.response_trailers());
  const RequestInfo info = request_info(context, request);
  wait(context, definition.response_delay_ms());
  if (definition.has_error()) throw to_error(definition.error(), &info);
  Response response;
  response.mutable_payload()->set_data(definition.response_data());
  *response.mutable_payload()->mutable_request_info() = info;
  return response;
}

void answer_stream(const RequestContext& context, const wire::ServerStreamRequest& request,
                   MessageStream<wire::ServerStreamResponse>& out) {
  const wire::StreamResponseDefinition& definition = request.response_definition();
  context.notes->headers = to_metadata(definition.response_headers());
  context.notes->trailers = to_metadata(definition.response_trailers());
  const RequestInfo info = request_info(context, request);
  bool first = true;
  for (const std::string& data : definition.response_data()) {
    wire::ServerStreamResponse response;
    response.mutable_payload()->set_data(data);
    if (first) *response.mutable_payload()->mutable_request_info() = info;
    first = false;
    wait(context, definition.response_delay_ms());
    if (!out.send(response)) return;
  }
  if (definition.has_error()) throw to_error(definition.error(), first ? &info : nullptr);
}

void register_methods(Router& router) {
  const auto method = [](std::string_view name) {
    return find_method(wire::UnaryRequest::descriptor(), "ConformanceService", name);
  };
  router.unary<wire::UnaryRequest, wire::UnaryResponse>(
      method("Unary"), answer_unary<wire::UnaryRequest, wire::UnaryResponse>);
  router.unary<wire::IdempotentUnaryRequest, wire::IdempotentUnaryResponse>(
      method("IdempotentUnary"),
      answer_unary<wire::IdempotentUnaryRequest, wire::IdempotentUnaryResponse>);
  router.server_stream<wire::ServerStreamRequest, wire::ServerStreamResponse>(
      method("ServerStream"), answer_stream);
}

std::string read_exactly(std::size_t size) {
  std::string bytes(size, '\0');
  std::cin.read(bytes.data(), static_cast<std::streamsize>(size));
  return bytes;
}

// Messages on standard input and output have their size before them, four bytes big-endian.
wire::ServerCompatRequest read_request() {
  std::size_t size = 0;
  for (const char c : read_exactly(4)) size = (size << 8) | static_cast<unsigned char>(c);
  wire::ServerCompatRequest request;
  request.ParseFromString(read_exactly(size));
  return request;
}

void write_response(const wire::ServerCompatResponse& response) {
  const std::string bytes = response.SerializeAsString();
  for (const int shift : {24, 16, 8, 0}) std::cout.put(static_cast<char>(bytes.size() >> shift));
  std::cout << bytes << std::flush;
}

void run() {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);

  const wire::ServerCompatRequest request = read_request();
  RouterOptions router_options;
  HttpServerOptions server_options;
  server_options.listen = {"127.0.0.1", 0};
  if (request.message_receive_limit() > 0) {
    router_options.max_message_bytes = request.message_receive_limit();
    // Envelopes and base64 take room, too.
    server_options.limits.body_bytes = request.message_receive_limit() * 2 + 64;
  }
  Router router(router_options);
  register_methods(router);
  HttpServer server(server_options,
                    [&](const HttpRequest& in, HttpResponse& out) { router.handle(in, out); });
  server.start();
  wire::ServerCompatResponse response;
  response.set_host("127.0.0.1");
  response.set_port(server.address().port);
  write_response(response);
  int signal = 0;
  sigwait(&ending, &signal);
  server.stop(std::chrono::seconds(1));
}

}  // namespace
}  // namespace writ::test

int main() { writ::test::run(); }
