#include "tests/service/reference_service.h"

#include <thread>

#include "reference.pb.h"

namespace writ::test {
namespace {

using reference::CountRequest;
using reference::CountResponse;
using reference::EchoRequest;
using reference::EchoResponse;
using reference::FailRequest;

EchoResponse echo(const RequestContext& context, const EchoRequest& request) {
  std::this_thread::sleep_for(std::chrono::milliseconds(request.wait_ms()));
  EchoResponse response;
  response.set_text(request.text());
  response.set_number(request.number());
  response.set_data(request.data());
  if (request.answer_bytes() > 0) response.set_data(std::string(request.answer_bytes(), 'x'));
  *response.mutable_entries() = request.entries();
  response.set_actor(context.caller.name);
  response.set_reason(context.reason);
  response.set_idempotency_key(context.idempotency_key);
  context.set_log_key("echo:" + request.text());
  return response;
}

EchoResponse fail(const RequestContext&, const FailRequest& request) {
  if (request.code() == kFailTranslated) throw TranslatedFailure(request.message());
  if (request.code() == kFailUntranslated) throw std::runtime_error(request.message());
  ConnectError error(static_cast<Code>(request.code()), request.message());
  if (!request.detail()) throw error;
  auto detail = std::make_shared<EchoRequest>();
  detail->set_text("the detail");
  detail->set_number(7);
  throw std::move(error).with_detail(std::move(detail));
}

// Waits, but not for a caller that is gone.
bool pause(std::chrono::milliseconds time, MessageStream<CountResponse>& out) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
    if (!out.alive()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void count(const RequestContext& context, const CountRequest& request,
           MessageStream<CountResponse>& out) {
  context.notes->headers.emplace_back("X-Count", std::to_string(request.to()));
  context.notes->trailers.emplace_back("x-last", "one");
  context.notes->trailers.emplace_back("x-last", "two");
  context.set_log_key("count");
  for (int number = 1; number <= request.to(); ++number) {
    if (!pause(std::chrono::milliseconds(request.pause_ms()), out)) return;
    CountResponse response;
    response.set_number(number);
    if (request.padding() > 0) response.set_padding(std::string(request.padding(), 'x'));
    if (!out.send(response)) return;
    if (number == request.fail_after()) throw ConnectError(Code::kAborted, "stopped at 100%\n");
    if (number == request.break_after()) throw std::runtime_error("the secret of /var/lib");
  }
}

RouterOptions with_translation(RouterOptions options) {
  options.translate = [](std::exception_ptr exception) -> std::optional<ConnectError> {
    try {
      std::rethrow_exception(exception);
    } catch (const TranslatedFailure& failure) {
      return ConnectError(Code::kUnavailable, failure.what());
    } catch (const std::exception&) {
      return std::nullopt;
    }
  };
  return options;
}

}  // namespace

void register_reference_service(Router& router) {
  const auto method = [](std::string_view name) {
    return find_method(EchoRequest::descriptor(), "ReferenceService", name);
  };
  router.unary<EchoRequest, EchoResponse>(method("Echo"), echo);
  router.unary<EchoRequest, EchoResponse>(method("Read"), echo);
  router.unary<FailRequest, EchoResponse>(method("Fail"), fail);
  router.server_stream<CountRequest, CountResponse>(method("Count"), count);
  router.get("/hello", [](const HttpRequest&, HttpResponse& response) {
    response.content_type = "text/plain; charset=utf-8";
    response.body = "hello\n";
  });
  router.get("/broken", [](const HttpRequest&, HttpResponse&) {
    throw std::runtime_error("the secret of /var/lib");
  });
}

ReferenceServer::ReferenceServer(HttpServerOptions server, RouterOptions router)
    : router_(with_translation(std::move(router))),
      server_(std::move(server), [this](const HttpRequest& request, HttpResponse& response) {
        router_.handle(request, response);
      }) {
  register_reference_service(router_);
  server_.start();
}

}  // namespace writ::test
