#pragma once

#include <string>
#include <string_view>

namespace writ {

/// The id a request is known by: what the client sent when that is 1 to 128 printable ASCII
/// characters, else a new random one.
std::string request_id_for(std::string_view sent);

}  // namespace writ
