#pragma once

#include <string>
#include <string_view>

namespace writ::client {

/// `text` as a YAML scalar of one line that every YAML reader takes as this string: plain where
/// that is safe, else in double quotes. `text` must be UTF-8.
std::string yaml_string(std::string_view text);

/// JSON as block YAML, members in their order, strings still strings. Complete lines.
std::string yaml_from_json(const std::string& json);

}  // namespace writ::client
