#pragma once

#include <string>

#include "service/http_message.h"

namespace writ {

/// One line of JSON without a line end: method, route, code, status, ms, actor, key, request_id,
/// peer, in, out (bytes). Never a body, a query string or a header's value beside the request id.
std::string request_line(const RequestRecord& record);

}  // namespace writ
