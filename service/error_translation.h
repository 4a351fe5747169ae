#pragma once

#include <exception>
#include <optional>

#include "service/connect.h"

namespace writ {

/// The answer for a failure of the lower layers, or nothing for one that is a bug: the client is
/// told a request id only.
///
/// `unavailable`, and `deadline_exceeded` once a change was dispatched, mean that the outcome may
/// be unknown; every other error means that the request had no effect.
std::optional<ConnectError> translate_storage_error(std::exception_ptr error);

}  // namespace writ
