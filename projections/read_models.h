#pragma once

#include <string>
#include <vector>

#include "projections/folded_model.h"

namespace writ {

/// The settings as they are now.
FoldedModel settings_model();

/// All read models that are folded from events.
std::vector<FoldedModel> read_models();

/// What `rebuild` and `writ rebuild` take.
inline constexpr const char* kRebuildable[] = {"settings", "changed_paths"};

}  // namespace writ
