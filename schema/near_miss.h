#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// The name that someone who wrote `word` probably meant, for a "did you mean" hint: the same but
/// for case and `_` or blanks for `-`, else the shortest that ends in `word` behind a `-`, else the
/// one that few typing errors separate from it. Empty when none is near. Ties go to the earlier
/// name.
std::string nearest_name(std::string_view word, const std::vector<std::string>& names);

}  // namespace writ
