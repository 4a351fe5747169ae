#pragma once

#include <string_view>

namespace writ {

/// True when PostgreSQL can keep `text` as it is: UTF-8 without U+0000.
bool is_storable(std::string_view text);

}  // namespace writ
