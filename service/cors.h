#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "service/http_message.h"

namespace writ {

// Cross-origin requests of web pages (the Fetch standard's CORS protocol).

/// Whether a browser would send this text as an origin: `http://host`, `https://host:port`, in
/// lower case, without the port that the scheme has anyway, a path, or a slash at the end.
bool is_origin(std::string_view text);

/// Whether a page of this origin may call.
bool is_allowed_origin(const std::vector<std::string>& allowed, std::string_view origin);

/// Answers OPTIONS: a preflight of an allowed origin with what it may send, others with `Allow`
/// only.
void answer_options(const std::vector<std::string>& allowed, std::string_view methods,
                    const HttpRequest& request, HttpResponse& response);

/// Adds the headers that let a page of an allowed origin read the answer; before the answer is
/// made, since a stream sends its head early.
void expose_to_page(const std::vector<std::string>& allowed, const HttpRequest& request,
                    HttpResponse& response);

}  // namespace writ
