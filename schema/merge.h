#pragma once

#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "schema/scope.h"

namespace writ {

/// One record of a chain: what its scope stores.
struct Level {
  Scope scope;
  const flyteidl2::settings::Settings* settings;
};

/// Merges a chain of stored settings, broadest first, into the effective settings. A level that
/// stores nothing may be left out. Driven by the descriptor alone.
///
/// A scalar leaf is that of the last level whose state is not INHERIT, whole, and gets that level's
/// `scope_level`; UNSET wins like a value and comes back as UNSET.
///
/// A string map is the union, the later level winning a key. UNSET clears what was gathered and a
/// later VALUE fills anew. The state is that of the last level that is not INHERIT, and so is
/// `scope_level`, also when that level adds no entry. UNSET carries no map.
///
/// Groups with nothing set are absent.
flyteidl2::settings::Settings merge(const std::vector<Level>& levels);

}  // namespace writ
