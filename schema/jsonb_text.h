#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace writ {

/// The text that PostgreSQL gives a JSON text once it is a `jsonb`: members sorted by the length of
/// their names and then their bytes, the last of several of one name, a space after `:` and `,`,
/// numbers written out with the digits they came with. Nothing for a text that is no JSON, or that
/// has a number too large for a double. Pure.
std::optional<std::string> jsonb_text(std::string_view json);

}  // namespace writ
