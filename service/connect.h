#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace writ {

/// The Connect error codes; their names on the wire and HTTP statuses are in design/connect.md.
enum class Code {
  kCanceled, kUnknown, kInvalidArgument, kDeadlineExceeded, kNotFound, kAlreadyExists,
  kPermissionDenied, kResourceExhausted, kFailedPrecondition, kAborted, kOutOfRange,
  kUnimplemented, kInternal, kUnavailable, kDataLoss, kUnauthenticated,
};

/// Thrown by a handler to answer with an error. `details` are sent as typed, base64 messages.
class ConnectError : public std::runtime_error {
 public:
  ConnectError(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }
  const std::vector<std::shared_ptr<const google::protobuf::Message>>& details() const { return details_; }
  ConnectError&& with_detail(std::shared_ptr<const google::protobuf::Message> detail) &&;

 private:
  Code code_;
  std::vector<std::shared_ptr<const google::protobuf::Message>> details_;
};

/// What a handler knows of the request beside its message.
struct RequestContext {
  std::string actor;            ///< Who asks.
  std::string reason;           ///< `Writ-Reason`, "" when absent.
  std::string request_id;       ///< `X-Request-Id`, echoed or made.
  std::string idempotency_key;  ///< `Idempotency-Key`, "" when absent.
  std::chrono::steady_clock::time_point deadline;  ///< When the caller stops waiting.
};

}  // namespace writ
