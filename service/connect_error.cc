#include <google/protobuf/io/coded_stream.h>

#include <array>

#include "schema/base64.h"
#include "schema/protojson.h"
#include "service/connect_call.h"
#include "service/json_text.h"

namespace writ {
namespace {

struct CodeRow {
  Code code;
  std::string_view name;
  int status;
};

constexpr std::array<CodeRow, 16> kCodes = {{
    {Code::kCanceled, "canceled", 499},
    {Code::kUnknown, "unknown", 500},
    {Code::kInvalidArgument, "invalid_argument", 400},
    {Code::kDeadlineExceeded, "deadline_exceeded", 504},
    {Code::kNotFound, "not_found", 404},
    {Code::kAlreadyExists, "already_exists", 409},
    {Code::kPermissionDenied, "permission_denied", 403},
    {Code::kResourceExhausted, "resource_exhausted", 429},
    {Code::kFailedPrecondition, "failed_precondition", 400},
    {Code::kAborted, "aborted", 409},
    {Code::kOutOfRange, "out_of_range", 400},
    {Code::kUnimplemented, "unimplemented", 501},
    {Code::kInternal, "internal", 500},
    {Code::kUnavailable, "unavailable", 503},
    {Code::kDataLoss, "data_loss", 500},
    {Code::kUnauthenticated, "unauthenticated", 401},
}};

const CodeRow& row_of(Code code) { return kCodes.at(static_cast<std::size_t>(code)); }

void append_detail(const google::protobuf::Message& detail, std::string* out) {
  out->append("{\"type\":");
  append_json_string(detail.GetTypeName(), out);
  out->append(",\"value\":\"");
  out->append(without_padding(encode_base64(encode_message(Codec::kProto, detail))));
  out->append("\",\"debug\":").append(write_json(detail)).push_back('}');
}

}  // namespace

std::string without_padding(std::string base64) {
  while (!base64.empty() && base64.back() == '=') base64.pop_back();
  return base64;
}

std::string_view code_name(Code code) { return row_of(code).name; }
int http_status(Code code) { return row_of(code).status; }

ConnectError ConnectError::with_detail(std::shared_ptr<const google::protobuf::Message> detail) && {
  details_.push_back(std::move(detail));
  return std::move(*this);
}

std::string error_json(const ConnectError& error) {
  std::string out = error_json(code_name(error.code()), error.what());
  if (error.details().empty()) return out;
  out.pop_back();
  out.append(",\"details\":[");
  for (const auto& detail : error.details()) {
    if (out.back() != '[') out.push_back(',');
    append_detail(*detail, &out);
  }
  return out.append("]}");
}

void answer_error(const ConnectError& error, HttpResponse& response) {
  response.status = http_status(error.code());
  response.content_type = "application/json";
  response.body = error_json(error);
  response.record.code = code_name(error.code());
}

ConnectError too_large(std::size_t limit) {
  return {Code::kResourceExhausted,
          "the message is larger than the limit of " + std::to_string(limit) + " bytes"};
}

ConnectError to_connect_error(std::exception_ptr exception, std::string_view request_id,
                              const RouterOptions& options) {
  std::string what = "an exception of unknown type";
  try {
    std::rethrow_exception(exception);
  } catch (const ConnectError& error) {
    return error;
  } catch (const std::exception& error) {
    if (options.translate) {
      if (auto translated = options.translate(exception)) return *translated;
    }
    what = error.what();
  } catch (...) {  // told below like any other
  }
  if (options.log_failure) options.log_failure(request_id, what);
  return {Code::kInternal, "internal error, request id " + std::string(request_id)};
}

}  // namespace writ
