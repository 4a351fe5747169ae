#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "service/connect.h"

namespace writ {

// The parts of gRPC-Web that are not Connect's.

/// Decodes the body of a -text request: base64 whose pieces may each be padded. Nothing when it is
/// not.
std::optional<std::string> decode_grpc_web_text(std::string_view text);

/// Reads `Grpc-Timeout`: at most 8 digits and a unit. Nothing when absent; throws invalid_argument
/// when malformed.
std::optional<std::chrono::milliseconds> parse_grpc_timeout(std::optional<std::string_view> text);

/// The content of the trailers frame: status, message, details, and the handler's own trailers.
std::string grpc_web_trailers(const std::optional<ConnectError>& error, const Metadata& trailers);

}  // namespace writ
