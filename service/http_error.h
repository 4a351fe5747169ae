#pragma once

#include <string>
#include <string_view>

#include "service/http_message.h"

namespace writ {

/// Makes `response` the JSON of an error that the front itself answers, with the Connect code that
/// goes with the HTTP status.
void fill_error(int status, std::string_view message, HttpResponse& response);

/// The current `Date` (RFC 9110 section 6.6.1), made once a second.
const std::string& date_text();

}  // namespace writ
