#include "tests/service/reference_service.h"

#include <thread>

#include "reference.pb.h"

namespace writ::test {
namespace {

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
  response.set_actor(context.actor);
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
